"""What a container of a pod will see: its final environment and argv, as its engine is started with them.

The backend has put its variables into env (``krmfn.backends.pods``), the kubelet has expanded, and the prelude
or the env file's writer has computed the rank. What only the cluster knows stands between angle brackets.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from krmfn.backends import grove_releases as grove
from krmfn.gang import ADDRESS, ENV_FILE_REF, ENV_FILE_VOLUME, PREFIX, RANK, contains_stand_in, offset_of, stand_in
from krmfn.inject import prelude
from krmfn.inject.container import user_texts
from krmfn.inject.envfile import is_writer, written_offset
from krmfn.kubelet import MissingValue, expand, holders, mentions, references, resolve_env, sub_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from krmfn.backends.pods import Pod
    from krmfn.podspec import Container, EnvVar

    ConfigMaps = Callable[[str, str], Mapping[str, str] | None]  # namespace and name -> data, None: not known

# The kubelet sets these in every container; other services' variables cannot be known.
SERVICE_VARIABLES = (
    "KUBERNETES_SERVICE_HOST",
    "KUBERNETES_SERVICE_PORT",
    "KUBERNETES_SERVICE_PORT_HTTPS",
    "KUBERNETES_PORT",
    "KUBERNETES_PORT_443_TCP",
    "KUBERNETES_PORT_443_TCP_PROTO",
    "KUBERNETES_PORT_443_TCP_PORT",
    "KUBERNETES_PORT_443_TCP_ADDR",
)
_UNKNOWN = re.compile(r"<[^<>]+>")
_DIGITS = re.compile(r"0|[1-9][0-9]{0,17}")


class Seen(NamedTuple):
    """What one container sees.

    ``argv`` is what the engine gets: the prelude is gone. Without a command it begins with the words
    ``<entrypoint of IMAGE>``. ``rank_from`` is ``env``, ``prelude``, ``file``, or "" where there is no rank.
    ``derived`` are the variables that hold the rank or the address. ``problems`` say why the gang is broken.
    """

    argv: tuple[str, ...]
    rank: str | None
    address: str | None
    rank_from: str
    derived: tuple[tuple[str, str], ...]
    sub_paths: tuple[str, ...]
    problems: tuple[str, ...]


class WontStart(Exception):
    """Why a container does not start."""


def see(
    container: Container, pod: Pod, config_maps: ConfigMaps, excluded: bool = False, rank: str | None = None
) -> Seen:
    """What a container sees in a pod of a gang.

    ``excluded``: the function leaves the container alone, so it need not have the two variables. ``rank``
    takes the place of the real one, to find where it goes.
    """
    problems: list[str] = []
    entries = pod.inject(container.env)
    if rank is not None:
        entries = [e._replace(value=rank, value_from=None) if e.name == RANK else e for e in entries]
    below = _below(container, pod, config_maps)
    env = resolve_env(entries, below, lambda source: _value(source, container, pod, config_maps, problems))
    wrapper = _wrapper(container)
    words = (*container.command.words, *container.args.words)
    problems += [f"does not start: {why}" for why in pod.refuses(container.env)]
    problems += _unresolved(container, entries, words, below, env)
    argv = [expand(word, env) for word in words]
    paths = _sub_paths(container, env, problems)
    if wrapper is not None:
        argv, env = _run_prelude(wrapper, argv[prelude.WORDS :], env, problems)
    elif not container.command.words:
        argv.insert(0, f"<entrypoint of {container.image}>" if container.image else "<entrypoint>")
    if rank is None and not is_writer(container):
        problems += _wrong(container, entries, env, pod, excluded)
    own = (ADDRESS, RANK, *(helper.name for helper in pod.member.helpers))
    derived = tuple((name, env[name]) for name in holders(container.env, own) if name not in own and name in env)
    source = _source(container, env) if RANK in env else ""
    out = (tuple(argv), env.get(RANK), env.get(ADDRESS), source, derived, tuple(paths))
    return Seen(*out, tuple(dict.fromkeys(problems)))


def _sub_paths(container: Container, env: Mapping[str, str], problems: list[str]) -> list[str]:
    paths = []
    for path in container.sub_paths:
        try:
            paths.append(sub_path(path.expr, env))
        except MissingValue as error:
            problems.append(f"does not start: subPathExpr {path.expr!r}: {error}")
    return paths


def _run_prelude(
    wrapper: prelude.Wrapper, argv: list[str], env: dict[str, str], problems: list[str]
) -> tuple[list[str], dict[str, str]]:
    try:
        return run_prelude(wrapper.names, argv, env)
    except WontStart as error:
        problems.append(f"does not start: {error}")
    return argv, env


def run_prelude(names: Sequence[str], argv: Sequence[str], env: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """What the prelude (``krmfn.inject.prelude``) makes of the engine's argv and environment. Raises WontStart."""
    held, index = env.get(RANK, ""), env.get(grove.PCLQ_POD_INDEX, "")
    if not argv:
        raise WontStart("the prelude has no command to start")
    if re.fullmatch("[0-9]+", held):
        return list(argv), dict(env)
    offset = offset_of(held)
    if offset is None or stand_in(offset) != held:
        raise WontStart(f"the prelude finds no stand-in in {RANK}, which is {held!r}")
    if not _DIGITS.fullmatch(index):
        raise WontStart(f"the prelude finds no number in {grove.PCLQ_POD_INDEX}, which is {index!r}")
    number = str(offset + int(index))
    exported = {name: env[name].replace(held, number) for name in names if name in env}
    return [word.replace(held, number) for word in argv], {**env, **exported}


def _wrapper(container: Container) -> prelude.Wrapper | None:
    try:
        return prelude.unwrap(container.command.words)[0]
    except prelude.PreludeEdited:  # in a container that is left alone; in any other it is an error of the function
        return None


def _source(container: Container, env: Mapping[str, str]) -> str:
    entry = next((e for e in container.env if e.name == RANK), None)
    if entry is not None and offset_of(entry.value or "") is not None:
        return "prelude"
    return "file" if entry is not None and _is_file(entry.value_from) else "env"


def _is_file(source: Any) -> bool:
    ref = source.get("fileKeyRef") if isinstance(source, dict) else None
    return isinstance(ref, dict) and {**ref, "optional": False} == {**ENV_FILE_REF, "optional": False}


def _below(container: Container, pod: Pod, config_maps: ConfigMaps) -> dict[str, str]:
    """What lies below ``env``: the service variables, and ``envFrom`` as far as the input has its ConfigMaps."""
    env = {name: f"<{name}>" for name in SERVICE_VARIABLES}
    for source in container.env_from:
        ref = source.get("configMapRef") if isinstance(source, dict) else None
        data = config_maps(pod.namespace, str(ref.get("name"))) if isinstance(ref, dict) else None
        prefix = str(source.get("prefix") or "") if data else ""
        env |= {prefix + key: value for key, value in (data or {}).items()}
    return env


def _value(source: Any, container: Container, pod: Pod, config_maps: ConfigMaps, problems: list[str]) -> str | None:
    """What a ``valueFrom`` gives; None where an optional key is not there."""
    kind = next(iter(source), "") if isinstance(source, dict) else ""
    ref = source[kind] if kind and isinstance(source[kind], dict) else {}
    name, key = str(ref.get("name")), str(ref.get("key"))
    if kind == "fieldRef":
        path = str(ref.get("fieldPath"))
        value = pod.field(path)
        return f"<{path}>" if value is None else value
    if kind == "configMapKeyRef":
        data = config_maps(pod.namespace, name)
        if data is not None and key not in data and not ref.get("optional"):
            problems.append(f"does not start: ConfigMap {name} has no key {key}")
        return f"<configmap {name}/{key}>" if data is None else data.get(key)
    if kind == "fileKeyRef":
        return _from_file(source, ref, container, pod, problems)
    shown = {"secretKeyRef": f"<secret {name}/{key}>", "resourceFieldRef": f"<{ref.get('resource')}>"}
    if kind not in shown:
        problems.append("does not start: a valueFrom names no source")
    return shown.get(kind, "")


def _from_file(source: Any, ref: dict[str, Any], container: Container, pod: Pod, problems: list[str]) -> str | None:
    """A key of a file in a volume; that of our own writer is known (contract G9)."""
    if not _is_file(source):
        return f"<file {ref.get('volumeName')}/{ref.get('path')} {ref.get('key')}>"
    template = pod.member.template
    writer = next((c for c in template.containers if is_writer(c)), None)
    volumes = [v for v in template.volumes() if isinstance(v, dict) and v.get("name") == ENV_FILE_VOLUME]
    early = writer and container.list_name == "initContainers" and container.index <= writer.index
    why = ""
    if writer is None:
        why = f"no init container writes the file of volume {ENV_FILE_VOLUME}"
    elif early:
        why = f"it starts before the init container {ENV_FILE_VOLUME}, which writes the rank's file"
    elif not any("emptyDir" in volume for volume in volumes):
        why = f"there is no emptyDir volume {ENV_FILE_VOLUME}"
    else:
        # The index is Grove's in every release, whatever the manifest says.
        return str(written_offset(writer) + pod.pod_index)
    if not ref.get("optional"):
        problems.append(f"does not start: {why}")
    return None


def _unresolved(
    container: Container,
    entries: Sequence[EnvVar],
    words: Iterable[str],
    below: Mapping[str, str],
    env: Mapping[str, str],
) -> list[str]:
    """Where ``$(NAME)`` of one of our names, or of a variable made of them, is left as it is."""
    held = set(holders(entries, (RANK, ADDRESS)))

    def left(text: str, known: Mapping[str, Any]) -> Iterable[str]:
        for reference in references(text):
            name = reference.name
            if name in known:
                continue
            inner = name.rpartition("$(")[2].strip()  # an outer `$(` swallows an inner reference
            if inner.startswith(PREFIX) or inner in held:
                outer = "" if inner == name else f" inside of $({name})"
                yield f"$({inner}){outer}"

    found, known = [], dict.fromkeys(below)
    for entry in entries:
        if entry.value_from is None:
            found += [f"{shown} in env {entry.name} is not resolved" for shown in left(entry.value or "", known)]
        if entry.name in env:
            known[entry.name] = None
    for word in words:
        if prelude.MARKER not in word:
            found += [f"{shown} in the command line is not resolved" for shown in left(word, env)]
    return found


def _wrong(
    container: Container, entries: Sequence[EnvVar], env: Mapping[str, str], pod: Pod, excluded: bool
) -> list[str]:
    """What is wrong with the two values themselves."""
    own_env = [entry for entry in container.env if entry.name not in (RANK, ADDRESS)]
    texts = [text for _, text, _ in user_texts(container, pod.member)]
    found = []
    for name, right in ((ADDRESS, pod.leader), (RANK, str(pod.rank))):
        entry = next((e for e in reversed(entries) if e.name == name), None)
        if entry is None:
            used = [name, *holders(own_env, [name])]
            if not excluded and any(mentions(text, used) for text in texts):
                found.append(f"{name} is used and not set")
            continue
        if name in env:
            ours = pod.member.judge(entry) is not None
            found += _bad_value(name, env[name], right if ours else "", entry, entries)
    return found


def _bad_value(name: str, value: str, right: str, entry: EnvVar, entries: Sequence[EnvVar]) -> list[str]:
    """Why a value is no rank or no address; ``right`` is what a form of ours has to give."""
    names = [reference.name for reference in references(value)]
    if contains_stand_in(value):
        return [f"{name} is the stand-in {value!r}, which no prelude replaces"]
    if names and entry.value_from is None:
        set_late = any(e.name == names[0] for e in entries)
        why = f"{names[0]} is set after it in env" if set_late else f"nothing sets {names[0]}"
        return [f"{name} is {value!r}: {why}"]
    if not value:
        return [f"{name} is empty"]
    if _UNKNOWN.search(value) and value != right:
        return []
    if name == RANK and not _DIGITS.fullmatch(value):
        return [f"{name} is {value!r}, which is no number"]
    if right and value != right:
        return [f"{name} is {value!r} and should be {right!r}"]
    return []
