"""A rank without a shell in the engine (contract G9): an init container writes it into a file.

Every other container of the pod takes MODELPLANE_RANK from that file with ``fileKeyRef`` (KEP-3721, on by
default from Kubernetes 1.35), so no command is touched. The writer has to be the first init container: the
kubelet starts them in order and reads the file when it creates the container that refers to it.

The text of the writer's script is API, as the prelude's is: a change rolls every pod that has it.
"""

from __future__ import annotations

import re

from krmfn.gang import ENV_FILE_MARKER, ENV_FILE_PATH, ENV_FILE_VOLUME, RANK
from krmfn.inject.state import AGAIN
from krmfn.kyaml.access import get, slot, text, to_data
from krmfn.kyaml.edit import ListEdit, Move
from krmfn.kyaml.record import TYPE_CHECKING
from krmfn.kyaml.tree import Mapping, Sequence
from krmfn.versions import Version

if TYPE_CHECKING:
    from typing import Any

    from krmfn.findings import Report
    from krmfn.gang import Member
    from krmfn.inject.plan import Plan
    from krmfn.podspec import Container, PodTemplate
    from krmfn.settings import Settings

SINCE = Version(1, 35, 0)
NAME = ENV_FILE_VOLUME  # of the init container and of the volume
FOLDER = "/modelplane-env"

# A value in the file stands between single quotes, with no blank around the `=` (the parser of Kubernetes
# 1.35). Digits are spelled out because a locale decides what `[0-9]` is; a leading zero would be octal.
_V1 = f"""\
{ENV_FILE_MARKER}1: writes the pod's {RANK} for the other containers; see docs/contract.md of krmfn
case ${{GROVE_PCLQ_POD_INDEX-}} in
'' | 0?* | *[!0123456789]*)
  echo "krmfn env file: the pod index is no number (GROVE_PCLQ_POD_INDEX '${{GROVE_PCLQ_POD_INDEX-}}')" >&2
  exit 64
  ;;
esac
echo "{RANK}='$((@OFFSET@+GROVE_PCLQ_POD_INDEX))'" > {FOLDER}/{ENV_FILE_PATH}
"""
_TEXTS = {1: _V1}
_VERSION = 1
_MOUNT = {"name": NAME, "mountPath": FOLDER}
_SMALL = {"cpu": "10m", "memory": "16Mi"}
# Of the first container's securityContext: a policy, or the image, may want these of every container.
_WHO_RUNS = ("runAsNonRoot", "runAsUser", "runAsGroup", "seccompProfile")


def script(offset: int) -> str:
    """What the writer runs for a clique whose first pod has the rank ``offset``."""
    return _TEXTS[_VERSION].replace("@OFFSET@", str(offset))


def is_writer(container: Container) -> bool:
    """True for the init container of this module, of whatever version, image and offset."""
    words = container.command.words
    if container.list_name != "initContainers" or container.name != NAME or len(words) != 3 or words[1] != "-c":
        return False
    return any(words[2] == known.replace("@OFFSET@", _offset(words[2], known)) for known in _TEXTS.values())


def _offset(shown: str, known: str) -> str:
    head = known[: known.index("@OFFSET@")]
    found = re.match(r"[0-9]+", shown[len(head) :])
    return found.group() if found else ""


def treat_template(member: Member, wanted: bool, settings: Settings, plan: Plan, report: Report) -> None:
    """Plans volume and writer of one member's template: in place, or gone where no container takes the file."""
    template = member.template
    writers = [c.index for c in template.containers if is_writer(c)]
    if settings.mode == "Validate":
        _check_file(member, report)
    if wanted and not _free(template, report):
        return
    if wanted:
        _tell_version(template, settings, report)
    entries = {"volumes": _volume(), "initContainers": _writer(member, settings)} if wanted else {}
    _plan_lists(template, writers, entries, plan)


def clear_template(template: PodTemplate, plan: Plan) -> None:
    """Plans to take volume and writer out of a template in no gang."""
    _plan_lists(template, [c.index for c in template.containers if is_writer(c)], {}, plan)


def _plan_lists(template: PodTemplate, writers: list[int], entries: dict[str, Any], plan: Plan) -> None:
    places = {"volumes": _own_volumes(template), "initContainers": writers}
    for key, ours in places.items():
        change = _change(template, key, ours, entries[key]) if entries else ListEdit((), tuple(ours), marked=True)
        plan.add(template.node, key, slot(template.node, key, template.trail), template.trail, change)


def _free(template: PodTemplate, report: Report) -> bool:
    """Reports a container or volume of the user's that has the name of ours."""
    before = len(report.found)
    for container in template.containers:
        if container.name == NAME and not is_writer(container):
            what = f"a container of your own is called {NAME!r}, the name that grove.rankFrom: EnvFile needs; rename it"
            if any(ENV_FILE_MARKER in word for word in container.command.words):
                what = f"the init container {NAME!r} was edited; remove it, and run the function again"
            report.add("env-file-name-taken", what, f"{container.field}.name", container.node.start)
    own = _own_volumes(template)
    for i in _volume_places(template):
        if i not in own:
            volume = get(template.node, "volumes", i)
            what = f"a volume of your own is called {NAME!r}, the name that grove.rankFrom: EnvFile needs; rename it"
            report.add(
                "env-file-name-taken", what, f"{template.field}.volumes[{i}].name", volume.start if volume else -1
            )
    return len(report.found) == before


def _volume_places(template: PodTemplate) -> list[int]:
    volumes = get(template.node, "volumes")
    count = len(volumes.items) if isinstance(volumes, Sequence) else 0
    return [i for i in range(count) if text(get(volumes, i, "name")) == NAME]


def _own_volumes(template: PodTemplate) -> list[int]:
    """The volumes of our name that an earlier run put in: for a writer, or for what still refers to its file."""
    if not any(is_writer(c) or _refers(c) for c in template.containers):
        return []
    volumes = get(template.node, "volumes")
    return [i for i in _volume_places(template) if get(volumes, i, "emptyDir") is not None]


def _refers(container: Container) -> bool:
    """True where the rank comes from the file."""
    own = (entry.value_from for entry in container.env if entry.name == RANK)
    sources = (source for source in own if isinstance(source, dict))
    refs = (source.get("fileKeyRef") for source in sources)
    return any(isinstance(ref, dict) and ref.get("volumeName") == ENV_FILE_VOLUME for ref in refs)


def _check_file(member: Member, report: Report) -> None:
    """Reports a file that is referred to and will not hold the right rank, or not in time."""
    template = member.template
    users = [c for c in template.containers if _refers(c)]
    writer = next((c for c in template.containers if is_writer(c)), None)
    offset = written_offset(writer) if writer is not None else 0
    why = ""
    if writer is None:
        why = "no init container writes it"
    elif not _own_volumes(template):
        why = f"the volume {NAME!r} is not there"
    elif not _mounts(writer):
        why = f"the init container {NAME!r}, which writes it, does not mount its volume at {FOLDER}"
    elif any(user.list_name == "initContainers" and user.index < writer.index for user in users):
        why = f"a container starts before the init container {NAME!r}, which writes it"
    elif offset != member.first:
        why = f"the init container {NAME!r} adds {offset} to the pod's index, and it should be {member.first}"
    if users and why:
        user = users[0]
        text = f"container {user.name!r}: {RANK} comes from a file, and {why}; {AGAIN}"
        report.add("injection-stale", text, f"{user.field}.env", user.node.start)


def _mounts(writer: Container) -> bool:
    mounts = get(writer.node, "volumeMounts")
    return isinstance(mounts, Sequence) and _MOUNT in to_data(mounts)


def written_offset(writer: Container) -> int:
    """What a writer adds to the pod's index."""
    shown = writer.command.words[2]
    return next(int(found) for known in _TEXTS.values() if (found := _offset(shown, known)))


def _change(template: PodTemplate, key: str, places: list[int], wanted: dict[str, Any]) -> ListEdit:
    """The edit that leaves ``wanted`` once in the list, an init container in first place."""
    right = [i for i in places if _agrees(get(template.node, key, i), wanted)]
    if not right:
        return ListEdit((wanted,), tuple(places), marked=True)
    keep = right[0]
    front = (Move(keep),) if key == "initContainers" and keep != 0 else ()
    return ListEdit(front, tuple(i for i in places if i != keep))


def _agrees(node: object, wanted: dict[str, Any]) -> bool:
    """True where an entry has all that is wanted; what a user added to it stays."""
    data = to_data(node) if isinstance(node, Mapping) else {}
    if "imagePullPolicy" in data and "imagePullPolicy" not in wanted:
        return False
    same = (key in data and (key == "emptyDir" or data[key] == value) for key, value in wanted.items())
    return all(ok for key, ok in zip(wanted, same, strict=True) if key != "resources")


def _volume() -> dict[str, Any]:
    return {"name": NAME, "emptyDir": {}}


def _writer(member: Member, settings: Settings) -> dict[str, Any]:
    """The init container: the first container's image, nothing it does not need, no rights."""
    first = next((c for c in member.template.containers if c.list_name == "containers"), None)
    image = settings.env_file_image or (first.image if first else "")
    policy = settings.env_file_pull_policy
    if policy is None and first is not None:
        policy = text(get(first.node, "imagePullPolicy"))
    out: dict[str, Any] = {"name": NAME, "image": image}
    if policy:
        out["imagePullPolicy"] = policy
    out["command"] = [settings.prelude_shell, "-c", script(member.rank.offset)]
    resources = _resources(member.template)
    if resources:
        out["resources"] = resources
    user = to_data(found) if first and isinstance(found := get(first.node, "securityContext"), Mapping) else {}
    out["securityContext"] = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
        **{key: user[key] for key in _WHO_RUNS if key in user},
    }
    out["volumeMounts"] = [_MOUNT]
    return out


def _resources(template: PodTemplate) -> dict[str, dict[str, str]]:
    """Small requests and limits of the kinds that the template's containers state, equal where both are stated.

    A quota may demand them, and a pod whose other containers have equal ones keeps its class Guaranteed.
    """
    stated: dict[str, set[str]] = {"requests": set(), "limits": set()}
    for container in template.containers:
        for kind, names in stated.items():
            found = get(container.node, "resources", kind)
            names |= set(to_data(found)) if isinstance(found, Mapping) and not is_writer(container) else set()
    parts = {kind: {name: size for name, size in _SMALL.items() if name in names} for kind, names in stated.items()}
    return {kind: sizes for kind, sizes in parts.items() if sizes}


def _tell_version(template: PodTemplate, settings: Settings, report: Report) -> None:
    need = "MODELPLANE_RANK comes from a file (fileKeyRef), which needs Kubernetes 1.35 or newer"
    version = settings.kubernetes_version
    if version is not None and version < SINCE:
        what = (
            f"{need}: on {version}, as kubernetes.version says, the rank is empty without any error. Set "
            "grove.rankFrom: Prelude in the functionConfig, or correct kubernetes.version"
        )
        report.add("kubernetes-too-old", what, template.field, template.node.start, str(version), str(SINCE))
    elif version is None:
        what = f"{need}: on an older one the rank is empty without any error. State kubernetes.version to be warned"
        report.add("env-file-kubernetes", what, template.field, template.node.start)
