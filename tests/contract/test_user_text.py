"""Nothing of the user's text is edited: real manifests before and after, with what is ours in front taken off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.world import A8, A12, A14, OURS, containers, inject, load, run, settings, templates
from tests.support import missing, shared_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILES = shared_files("fixtures/lws/*.yaml", "fixtures/grove/*.yaml", "fixtures/cases/*.yaml")
LISTS = shared_files("fixtures/krm-stdin/*.yaml")
SETTINGS = {
    "defaults": settings(),
    "lws 0.3.0, grove alpha.8": settings(lws="0.3.0", grove=A8, wrap=("*",)),
    "grove alpha.12, EnvFile": settings(grove=A12, rank_from="EnvFile"),
    "grove alpha.14": settings(grove=A14, on_conflict="Keep"),
}


def own_words(command: list[str]) -> list[str]:
    """A command without the four words of a prelude."""
    wrapped = command[3:4] == ["modelplane"] and command[2].startswith("# krmfn prelude v")
    return command[4:] if wrapped else command


def texts(text: str) -> Iterator[tuple[str, Any]]:
    """Every command, argument, script and env value of a stream, by where it stands."""
    for i, template in enumerate(templates(text)):
        ours = [one for one in template.get("initContainers") or () if one.get("name") == "modelplane-env"]
        for one in containers(template):
            if one in ours:
                continue
            where = f"{i}/{one.get('name')}"
            yield f"{where} command", own_words(one.get("command") or [])
            yield f"{where} args", one.get("args") or []
            yield f"{where} env", [entry for entry in one.get("env") or () if entry["name"] not in OURS]
            yield f"{where} mounts", one.get("volumeMounts")
            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                yield f"{where} {probe}", own_words(((one.get(probe) or {}).get("exec") or {}).get("command") or [])
            yield (
                f"{where} lifecycle",
                [
                    own_words(((hook or {}).get("exec") or {}).get("command") or [])
                    for hook in (one.get("lifecycle") or {}).values()
                ],
            )


@pytest.mark.parametrize("chosen", SETTINGS)
@pytest.mark.parametrize("file", FILES)
def test_every_text_stays(file: Path, chosen: str):
    text = file.read_text("utf-8")
    done = inject(text, SETTINGS[chosen])
    if done.status == 0:
        assert list(texts(done.text)) == list(texts(text))
        others = [doc for doc in load(text) if "spec" not in doc]
        assert [doc for doc in load(done.text) if "spec" not in doc] == others


@pytest.mark.parametrize("chosen", SETTINGS)
@pytest.mark.parametrize("file", LISTS)
def test_every_text_of_a_hosts_list_stays(file: Path, chosen: str):
    data = file.read_bytes()
    done = run(data, SETTINGS[chosen])
    assert done.status == 0, done.errors
    assert run(done.text, SETTINGS[chosen]).text.partition("\nresults:")[0] == done.text.partition("\nresults:")[0]
    ours = {line.strip().removeprefix("- ") for line in done.text.splitlines()} - {
        line.strip().removeprefix("- ") for line in data.decode().splitlines()
    }
    lost = {line.strip() for line in data.decode().splitlines()} - {line.strip() for line in done.text.splitlines()}
    assert not {line for line in lost if "/id:" not in line and "command: [" not in line and "env: [" not in line}
    assert ours or "LeaderWorkerSet" not in data.decode()


def test_fixtures_that_get_a_prelude_are_among_them():
    """The comparison above would say nothing if no file were wrapped."""
    if not all(param.values[0] for param in FILES):
        missing("../shared does not lie beside this clone")
    wrapped = [
        p.values[0].name for p in FILES if "krmfn prelude" in run(p.values[0].read_text("utf-8"), settings()).text
    ]
    assert len(wrapped) > 5
