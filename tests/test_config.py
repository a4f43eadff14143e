"""The functionConfig (docs/configuration.md): what is accepted, what is refused and in which words, and the
files that show it to users."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from krmfn.config import ConfigError, load, schema, schema_text
from krmfn.settings import DEFAULTS, Entrypoint, RoleRule, Settings, matches, needs_check
from krmfn.versions import parse
from tests.support import ROOT

HEADER: dict[Any, Any] = {"apiVersion": "fn.modelplane.ai/v1alpha1", "kind": "ModelplaneEnv"}
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap"}
CODES = frozenset({"injected", "env-repeated", "prelude-edited"})
ERROR_CODES = frozenset({"prelude-edited"})


def read_yaml(text: str) -> object:
    """List values of a ConfigMap; the values in these tests mean the same to every YAML reader."""
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def settings_of(data: object) -> Settings:
    """What ``load`` makes of a document that has no lines."""
    return load(data, lambda path: "", read_yaml, codes=CODES, error_codes=ERROR_CODES)


def messages_of(data: object, lines: dict[tuple[str | int, ...], str] | None = None) -> list[str]:
    """The messages with which ``load`` refuses a document whose fields stand in these lines."""
    with pytest.raises(ConfigError) as error:
        load(data, lambda path: (lines or {}).get(path, ""), read_yaml, codes=CODES, error_codes=ERROR_CODES)
    assert str(error.value) == "\n".join(error.value.messages)
    assert all(message.isprintable() for message in error.value.messages)
    return error.value.messages


def nested(field: str, value: object) -> dict[str, Any]:
    """``{"lws": {"version": value}}`` for ``lws.version``."""
    for name in reversed(field.split(".")):
        value = {name: value}
    assert isinstance(value, dict)
    return value


def setting(field: str, value: object) -> dict[str, Any]:
    """A ModelplaneEnv that states one field."""
    return {**HEADER, "spec": nested(field, value)}


def entry(field: str, value: object) -> dict[str, Any]:
    """A ConfigMap that states one field."""
    return {**CONFIG_MAP, "data": {field: value}}


def fields_of(node: dict[str, Any], prefix: str = "") -> dict[str, dict[str, Any]]:
    """The settings of a schema by dotted path; the fields of list entries are not settings."""
    found: dict[str, dict[str, Any]] = {}
    for name, field in node["properties"].items():
        inner = fields_of(field, f"{prefix}{name}.") if "properties" in field else {prefix + name: field}
        found.update(inner)
    return found


FIELDS = fields_of(schema()["properties"]["spec"])

# Field, value, the same in a ConfigMap, what it changes, reason.
GOOD: list[tuple[str, object, str, dict[str, Any], str]] = [
    ("lws.version", "0.3.0", "0.3.0", {"lws_version": parse("0.3.0")}, "the oldest"),
    ("lws.version", "v0.7.0-rc.1", "v0.7.0-rc.1", {"lws_version": parse("v0.7.0-rc.1")}, "as the tag is written"),
    ("lws.version", "99.0.0", "99.0.0", {"lws_version": parse("99.0.0")}, "newer than anything known"),
    ("grove.version", "v0.1.0-alpha.1", "v0.1.0-alpha.1",
     {"grove_version": parse("v0.1.0-alpha.1")}, "the oldest"),
    ("grove.version", "0.1.0-alpha.14-rc1", "0.1.0-alpha.14-rc1",
     {"grove_version": parse("0.1.0-alpha.14-rc1")}, "without v"),
    ("grove.rankFrom", "EnvFile", "EnvFile", {"rank_from": "EnvFile"}, "not the default"),
    ("grove.rankFrom", "Prelude", "Prelude", {}, "the default, stated"),
    ("grove.roles", [{"clique": "prefill", "role": "gang"}], "[{clique: prefill, role: gang}]",
     {"roles": (RoleRule("*", "prefill", "gang"),)}, "in any PodCliqueSet"),
    ("grove.roles",
     [{"podCliqueSet": "*ds", "clique": "a", "role": "leader"}, {"clique": "b*", "role": "none"}],
     "- podCliqueSet: '*ds'\n  clique: a\n  role: leader\n- clique: b*\n  role: none\n",
     {"roles": (RoleRule("*ds", "a", "leader"), RoleRule("*", "b*", "none"))}, "the order stays"),
    ("grove.roles", [{"podCliqueSet": None, "clique": "w", "role": "worker"}],
     "- {podCliqueSet: , clique: w, role: worker}",
     {"roles": (RoleRule("*", "w", "worker"),)}, "null is the default in an entry too"),
    ("grove.envFile.image", "busybox:1.37", "busybox:1.37", {"env_file_image": "busybox:1.37"}, "an image"),
    ("grove.envFile.imagePullPolicy", "Always", "Always", {"env_file_pull_policy": "Always"}, "a policy"),
    ("grove.envFile.imagePullPolicy", "Never", "Never", {"env_file_pull_policy": "Never"}, "a policy"),
    ("grove.envFile.imagePullPolicy", "IfNotPresent", "IfNotPresent",
     {"env_file_pull_policy": "IfNotPresent"}, "a policy"),
    ("kubernetes.version", "1.35.0", "1.35.0", {"kubernetes_version": parse("1.35.0")}, "a release"),
    ("prelude.shell", "/bin/bash", "/bin/bash", {"prelude_shell": "/bin/bash"}, "a path"),
    ("prelude.shell", "dash", "dash", {"prelude_shell": "dash"}, "a name"),
    ("prelude.shell", "/nix/store/a-mksh-5.9+c/bin/mksh", "/nix/store/a-mksh-5.9+c/bin/mksh",
     {"prelude_shell": "/nix/store/a-mksh-5.9+c/bin/mksh"}, "a long path"),
    ("prelude.entrypoints", [{"image": "*/vllm:*", "command": ["vllm", "serve", "", "a b"]}],
     "- image: '*/vllm:*'\n  command: [vllm, serve, '', a b]",
     {"entrypoints": (Entrypoint("*/vllm:*", ("vllm", "serve", "", "a b")),)}, "later words may be anything"),
    ("prelude.wrap", ["a", "b-*"], "[a, b-*]", {"wrap": ("a", "b-*")}, "a name and a glob"),
    ("prelude.skip", ["istio-*"], "- istio-*\n", {"skip": ("istio-*",)}, "a glob"),
    ("containers.exclude", ["log-shipper"], '["log-shipper"]', {"exclude": ("log-shipper",)}, "a name"),
    ("onConflict", "Keep", "Keep", {"on_conflict": "Keep"}, "not the default"),
    ("ignore", ["injected", "env-repeated"], "[injected, env-repeated]",
     {"ignore": ("injected", "env-repeated")}, "codes of an info and a warning"),
    ("kpt.keepIds", True, "true", {"keep_ids": True}, "not the default"),
    ("kpt.keepIds", False, "false", {}, "the default, stated"),
    ("mode", "Validate", "Validate", {"mode": "Validate"}, "not the default"),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value", "text", "changed", "reason"), GOOD)
def test_a_field_is_read(field, value, text, changed, reason):
    expected = DEFAULTS._replace(**changed)
    assert settings_of(setting(field, value)) == expected, reason
    assert settings_of(entry(field, text)) == expected, "a ConfigMap carries the same settings"


def test_every_field_is_tried():
    assert {field for field, *_ in GOOD} == set(FIELDS)
    changed = {name for *_, changes, _ in GOOD for name in changes}
    assert changed == set(Settings._fields)


def test_all_fields_together():
    last = {field: (value, text, changed) for field, value, text, changed, _ in GOOD}
    last["kpt.keepIds"] = (True, "true", {"keep_ids": True})
    spec: dict[str, Any] = {}
    for field, (value, *_) in last.items():
        *parents, name = field.split(".")
        inner = spec
        for parent in parents:
            inner = inner.setdefault(parent, {})
        inner[name] = value
    expected = DEFAULTS._replace(**{k: v for *_, changed in last.values() for k, v in changed.items()})
    assert settings_of({**HEADER, "spec": spec}) == expected
    assert settings_of({**CONFIG_MAP, "data": {f: text for f, (_, text, _) in last.items()}}) == expected


@pytest.mark.parametrize("nothing", [None, "", {}, []], ids=["null", "text", "mapping", "list"])
@pytest.mark.parametrize("field", sorted({f.rpartition(".")[0] for f in FIELDS} - {""} | set(FIELDS)))
def test_null_and_empty_mean_the_default(field, nothing):
    assert settings_of(setting(field, nothing)) == DEFAULTS
    if field in FIELDS:
        assert settings_of(entry(field, nothing)) == DEFAULTS


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (None, "no functionConfig at all, as from a Kptfile without one"),
        ("", "an empty document"),
        ({}, "an empty mapping"),
        (HEADER, "no spec"),
        ({**HEADER, "spec": None}, "spec is null"),
        ({**HEADER, "spec": {}}, "spec is empty"),
        ({**HEADER, "metadata": {"name": "x", "annotations": {"a": "b"}}}, "metadata says nothing"),
        ({**CONFIG_MAP, "data": {}, "metadata": {"name": "function-input"}}, "what kpt sends by itself"),
        ({**CONFIG_MAP, "data": None}, "data is null"),
        ({**CONFIG_MAP, "data": {}, "spec": {}}, "both, empty"),
        ({"apiVersion": "example.com/v1", "kind": "Other", "spec": {}}, "another kind that says nothing"),
        ({"kind": "Other", "metadata": {"name": "x"}}, "an object that only carries the annotation"),
    ],
)
def test_what_says_nothing_means_the_defaults(data, reason):
    assert not needs_check(data), reason
    assert settings_of(data) == DEFAULTS, reason


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (setting("mode", "Inject"), "a field, even with its default"),
        ({**HEADER, "spec": {"lws": None}}, "a name that may be wrong"),
        (entry("mode", ""), "an entry that may be wrong"),
        ({**HEADER, "sepc": None}, "a misspelt spec"),
        ({**HEADER, "data": {"mode": "Inject"}}, "data where spec belongs"),
        ([HEADER], "not a mapping"),
        ("x", "not a mapping"),
        (0, "not a mapping"),
    ],
)
def test_what_says_something_is_checked(data, reason):
    assert needs_check(data), reason


VERSION = "quote it, three parts"
NOT_TEXT = "is a number, not a string"
WORD = "is no name"

# Field, value, path of what is wrong (below spec), what the message says, reason.
BAD: list[tuple[str, object, str, list[str], str]] = [
    ("lws.version", 0.1, "lws.version", ["0.1 is a number", VERSION], "an unquoted 0.10"),
    ("lws.version", 1, "lws.version", ["1 is a number", VERSION], "a whole number"),
    ("lws.version", True, "lws.version", ["true is a boolean", VERSION], "a boolean"),
    ("lws.version", ["0.6.0"], "lws.version", ["a list", VERSION], "a list"),
    ("lws.version", "0.6", "lws.version", ["'0.6'", VERSION], "two parts"),
    ("lws.version", "latest", "lws.version", ["'latest'", VERSION, "MAJOR.MINOR.PATCH"], "a word"),
    ("lws.version", "0.2.9", "lws.version", ["'0.2.9'", "not supported", "0.3.0"], "before LWS 0.3.0"),
    ("lws.version", "0.3.0-rc.1", "lws.version", ["not supported", "0.3.0"], "a candidate is before the release"),
    ("lws", "0.6.0", "lws", ["'0.6.0' is a string, not a mapping"], "a value where a mapping belongs"),
    ("lws", ["version"], "lws", ["a list, not a mapping"], "a list where a mapping belongs"),
    ("lws.verison", "0.6.0", "lws.verison", ["unknown field", "did you mean version?"], "misspelt"),
    ("lws.verison", None, "lws.verison", ["unknown field", "did you mean version?"], "misspelt, even when null"),
    ("grove.version", 0.1, "grove.version", ["0.1 is a number", VERSION], "an unquoted number"),
    ("grove.version", "v0.1.0-alpha.0", "grove.version", ["not supported", "v0.1.0-alpha.1"], "before the first"),
    ("grove.version", "v0.1.0-alpha12", "grove.version", ["'v0.1.0-alpha12'", "-alpha.N"], "a dot is missing"),
    ("grove.rankFrom", "prelude", "grove.rankFrom",
     ["'prelude'", "did you mean Prelude?", "Prelude or EnvFile"], "case counts"),
    ("grove.rankFrom", 1, "grove.rankFrom", ["1 is not allowed", "Prelude or EnvFile"], "a number"),
    ("grove.rankFrom", ["EnvFile"], "grove.rankFrom", ["a list is not allowed", "Prelude or EnvFile"], "a list"),
    ("grove.roles", {"clique": "a", "role": "gang"}, "grove.roles", ["a mapping, not a list"], "no list"),
    ("grove.roles", ["a"], "grove.roles[0]", ["'a' is a string, not a mapping"], "a name only"),
    ("grove.roles", [None], "grove.roles[0]", ["empty, not a mapping"], "a dash and nothing else"),
    ("grove.roles", [{"role": "gang"}], "grove.roles[0].clique", ["missing or empty", "required"], "no clique"),
    ("grove.roles", [{"clique": "", "role": "gang"}], "grove.roles[0].clique", ["missing or empty"], "empty"),
    ("grove.roles", [{"clique": "a"}], "grove.roles[0].role", ["missing or empty", "required"], "no role"),
    ("grove.roles", [{"clique": "a", "role": "gang"}, {"clique": "b", "role": "leeder"}], "grove.roles[1].role",
     ["'leeder'", "did you mean leader?", "leader, worker, gang or none"], "misspelt role"),
    ("grove.roles", [{"clique": 1, "role": "gang"}], "grove.roles[0].clique", [NOT_TEXT, "quote it"], "a number"),
    ("grove.roles", [{"clique": "a b", "role": "gang"}], "grove.roles[0].clique", ["'a b'", WORD], "a blank"),
    ("grove.roles", [{"podCliqueSet": 5, "clique": "a", "role": "gang"}], "grove.roles[0].podCliqueSet",
     [NOT_TEXT], "a number"),
    ("grove.roles", [{"cliqe": "a", "clique": "a", "role": "gang"}], "grove.roles[0].cliqe",
     ["unknown field", "did you mean clique?", "podCliqueSet, clique, role"], "misspelt in a list"),
    ("grove.envFile.image", 5, "grove.envFile.image", [NOT_TEXT], "a number"),
    ("grove.envFile.image", "busy box", "grove.envFile.image", ["'busy box'", WORD], "a blank"),
    ("grove.envFile.imagePullPolicy", "always", "grove.envFile.imagePullPolicy",
     ["'always'", "did you mean Always?", "Always, IfNotPresent or Never"], "case counts"),
    ("kubernetes.version", 1.35, "kubernetes.version", ["1.35 is a number", VERSION], "an unquoted number"),
    ("kubernetes.version", "v1.35.2-gke.1", "kubernetes.version", ["'v1.35.2-gke.1'", VERSION], "a vendor's suffix"),
    ("prelude.shell", "/bin/fish", "prelude.shell", ["'/bin/fish'", "sh, bash, dash, ash, ksh, mksh"], "no POSIX"),
    ("prelude.shell", "/bin/sh -e", "prelude.shell", ["'/bin/sh -e'", "without blanks"], "a shell with a flag"),
    ("prelude.shell", "/bin/sh\n", "prelude.shell", ["without blanks"], "a line end"),
    ("prelude.shell", "bin/sh", "prelude.shell", ["absolute path"], "a relative path"),
    ("prelude.shell", "/bin/", "prelude.shell", ["'/bin/'"], "a folder"),
    ("prelude.shell", "$(SHELL_DIR)/sh", "prelude.shell", ["absolute path"], "the kubelet would expand it"),
    ("prelude.shell", 5, "prelude.shell", [NOT_TEXT], "a number"),
    ("prelude.entrypoints", [{"image": "a"}], "prelude.entrypoints[0].command", ["missing or empty"], "none"),
    ("prelude.entrypoints", [{"image": "a", "command": []}], "prelude.entrypoints[0].command",
     ["missing or empty"], "an empty command"),
    ("prelude.entrypoints", [{"image": "a", "command": [""]}], "prelude.entrypoints[0].command",
     ["first word is empty", "program"], "an empty program"),
    ("prelude.entrypoints", [{"image": "a", "command": "vllm serve"}], "prelude.entrypoints[0].command",
     ["'vllm serve' is a string, not a list"], "one text"),
    ("prelude.entrypoints", [{"image": "a", "command": ["sleep", 5]}], "prelude.entrypoints[0].command[1]",
     [NOT_TEXT, "quote it"], "a number among the words"),
    ("prelude.entrypoints", [{"command": ["a"]}], "prelude.entrypoints[0].image", ["missing or empty"], "none"),
    ("prelude.entrypoints", [{"image": "", "command": ["a"]}], "prelude.entrypoints[0].image",
     ["missing or empty"], "an empty image"),
    ("prelude.wrap", "metrics", "prelude.wrap", ["'metrics' is a string, not a list"], "one text"),
    ("prelude.wrap", [""], "prelude.wrap[0]", ["''", WORD], "matches nothing"),
    ("prelude.wrap", [None], "prelude.wrap[0]", ["empty, not a string"], "a dash and nothing else"),
    ("prelude.skip", ["a", 5], "prelude.skip[1]", [NOT_TEXT], "a number"),
    ("containers.exclude", ["a b"], "containers.exclude[0]", ["'a b'", WORD], "two names in one"),
    ("containers.exclude", {"a": True}, "containers.exclude", ["a mapping, not a list"], "a mapping"),
    ("onConflict", "replace", "onConflict", ["did you mean Replace?", "Replace or Keep"], "case counts"),
    ("onConflict", True, "onConflict", ["is not allowed", "Replace or Keep"], "a boolean"),
    ("ignore", ["injectd"], "ignore[0]", ["'injectd'", "did you mean injected?", "docs/findings.md"], "misspelt code"),
    ("ignore", ["nonsense"], "ignore[0]", ["'nonsense' is not a finding's code", "docs/findings.md"], "no such code"),
    ("ignore", ["prelude-edited"], "ignore[0]", ["'prelude-edited' is an error", "warnings"], "an error's code"),
    ("ignore", "injected", "ignore", ["not a list"], "one text"),
    ("mode", "Check", "mode", ["'Check'", "Inject or Validate"], "no such mode"),
    ("keepIds", True, "keepIds", ["unknown field", "did you mean spec.kpt.keepIds?"], "one level too high"),
    ("rankfrom", "EnvFile", "rankfrom", ["unknown field", "allowed here: lws, grove"], "one level too high"),
    ("on_conflict", "Keep", "on_conflict", ["unknown field", "did you mean onConflict?"], "another spelling"),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value", "path", "says", "reason"), BAD)
def test_a_bad_field_is_refused(field, value, path, says, reason):
    [message] = messages_of(setting(field, value))
    assert message.startswith(f"spec.{path}: "), reason
    assert [part for part in says if part not in message] == [], message


def text_of(field: str, value: object) -> object:
    """A value as a ConfigMap states it: a list as YAML text, anything else as it stands."""
    return json.dumps(value) if FIELDS[field]["type"][0] == "array" else value


@pytest.mark.parametrize(
    ("field", "value", "path", "says", "reason"),
    # A boolean, and a list where none belongs, read otherwise in a ConfigMap: see below.
    [row for row in BAD if row[0] in FIELDS and row[4] not in ("a boolean", "a list")],
)
def test_a_bad_entry_is_refused(field, value, path, says, reason):
    [message] = messages_of(entry(field, text_of(field, value)))
    assert message.startswith(f"data.{path}: "), reason
    assert [part for part in says if part not in message] == [], message


@pytest.mark.parametrize(
    ("value", "says", "reason"),
    [
        ("true", "'true' is a string; write true or false, without quotes", "quoted"),
        ("yes", "'yes' is a string; write true or false", "to the hosts yes is text"),
        (1, "1 is a number; write true or false", "a number"),
    ],
)
def test_a_boolean_is_not_guessed(value, says, reason):
    [message] = messages_of(setting("kpt.keepIds", value))
    assert message.startswith(f"spec.kpt.keepIds: {says}"), reason


@pytest.mark.parametrize(
    ("field", "value", "says", "reason"),
    [
        ("kpt.keepIds", "yes", "data.kpt.keepIds: 'yes' is not allowed; write true or false", "no YAML 1.1"),
        ("kpt.keepIds", "True", "data.kpt.keepIds: 'True' is not allowed; write true or false", "case counts"),
        ("kpt.keepIds", 1, "data.kpt.keepIds: 1 is not allowed; write true or false", "a number"),
        ("ignore", ["injected"], "data.ignore: this is a list, not a string; in a ConfigMap write", "a real list"),
        ("ignore", "[injected", "data.ignore: '[injected': ", "text that is no YAML"),
        ("ignore", "injected", "data.ignore: 'injected' is a string, not a list", "text that is no list"),
        ("lws.verison", "0.6.0", "data.lws.verison: unknown field (did you mean lws.version?)", "misspelt"),
        ("spec.mode", "Inject", "data.spec.mode: unknown field (did you mean mode?)", "spec. is not written"),
        ("spec", "x", "data.spec: unknown field; allowed here: lws.version, ", "nothing like it"),
        (5, "x", "data[5]: unknown field; allowed here: lws.version, ", "a key that is a number"),
        ("a\x1b[31m b", "x", r"data['a\x1b[31m b']: unknown field", "control characters are shown escaped"),
    ],
)
def test_what_only_a_config_map_can_get_wrong(field, value, says, reason):
    [message] = messages_of(entry(field, value))
    assert message.startswith(says), reason


def test_a_config_map_reads_a_plain_true_as_the_text():
    assert settings_of(entry("kpt.keepIds", True)).keep_ids is True
    [message] = messages_of(entry("mode", True))
    assert message.startswith("data.mode: 'true' is not allowed; write Inject or Validate")


def test_a_config_map_may_be_immutable_and_has_no_spec():
    assert settings_of({**CONFIG_MAP, "immutable": True, "data": {"mode": "Validate"}}).mode == "Validate"
    [message] = messages_of({**CONFIG_MAP, "spec": {"mode": "Validate"}})
    assert message == "spec: unknown field; in a ConfigMap the settings stand under data"
    [message] = messages_of({**CONFIG_MAP, "data": ["mode"]})
    assert message == "data: this is a list, not a mapping"


EXPECTED = "expected kind ModelplaneEnv of apiVersion fn.modelplane.ai/v1alpha1, or kind ConfigMap of apiVersion v1"


@pytest.mark.parametrize(
    ("data", "says", "reason"),
    [
        (
            {"apiVersion": "v1", "kind": "MyKind", "data": {"a": "1"}},
            ["kind: 'MyKind'", EXPECTED, "use ConfigMap"],
            "kpt fn eval ... -- MyKind a=1",
        ),
        (
            {"apiVersion": "v1", "kind": "ModelplaneEnv", "data": {"mode": "Validate"}},
            ["apiVersion: 'v1'", EXPECTED, "use ConfigMap"],
            "kpt fn eval ... -- ModelplaneEnv mode=Validate",
        ),
        (
            {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 1}},
            ["kind: 'Deployment'", EXPECTED],
            "another kind",
        ),
        (
            {"apiVersion": "fn.modelplane.ai/v1", "kind": "ModelplaneEnv", "spec": {"mode": "Inject"}},
            ["apiVersion: 'fn.modelplane.ai/v1'", EXPECTED],
            "another version",
        ),
        ({"apiVersion": "v2", "kind": "ConfigMap", "data": {"mode": "Inject"}}, ["apiVersion: 'v2'"], "likewise"),
        ({"spec": {"mode": "Inject"}}, ["kind: missing", EXPECTED], "only a spec"),
        ({"kind": "ModelplaneEnv", "spec": {"mode": "Inject"}}, ["apiVersion: missing", EXPECTED], "no version"),
        ({"kind": ["x"], "spec": {"mode": "Inject"}}, ["kind: a list", EXPECTED], "a kind that is a list"),
        ([HEADER], ["functionConfig: this is a list, not a mapping", EXPECTED], "a list"),
        ("text", ["functionConfig: 'text' is a string, not a mapping", EXPECTED], "a text"),
        ({**HEADER, "sepc": {}}, ["sepc: unknown field (did you mean spec?)"], "misspelt spec"),
        ({**HEADER, "data": {"mode": "Inject"}}, ["data: unknown field; allowed here: "], "data belongs to ConfigMap"),
        ({**HEADER, 5: "x"}, ["functionConfig: 5 is no field name"], "a key that is a number"),
        ({**HEADER, "spec": "x"}, ["spec: 'x' is a string, not a mapping"], "spec is a text"),
        ({**HEADER, "spec": {None: 1}}, ["spec: null is no field name"], "a key that is null"),
        (
            {**HEADER, "spec": {"lws.version": "0.6.0"}},
            ["spec['lws.version']: unknown field (did you mean spec.lws.version?)"],
            "the ConfigMap's spelling",
        ),
        (setting("prelude.shell", 16**5000), ["spec.prelude.shell: 0x1000", "..."], "a number Python does not print"),
        (setting("prelude.shell", "x" * 10_000), ["spec.prelude.shell: 'xxx", "...'"], "a long text is cut"),
        (setting("mode", "\x1b[31mred\n"), [r"spec.mode: '\x1b[31mred\n'"], "control characters are shown escaped"),
    ],
)
def test_a_document_that_is_no_configuration(data, says, reason):
    [message] = messages_of(data)
    assert message.startswith(says[0]), reason
    assert [part for part in says if part not in message] == [], message
    assert len(message) < 600


def test_every_mistake_is_told():
    spec = {"mode": "x", "lws": {"version": 0.6}, "prelude": {"wrap": [1, "ok", 2]}}
    assert [message.partition(":")[0] for message in messages_of({**HEADER, "spec": spec})] == [
        "spec.lws.version",
        "spec.prelude.wrap[0]",
        "spec.prelude.wrap[2]",
        "spec.mode",
    ]
    data = {"mode": "x", "kpt.keepIds": "y", "nonsense": "z"}
    assert {message.partition(":")[0] for message in messages_of({**CONFIG_MAP, "data": data})} == {
        "data.mode",
        "data.kpt.keepIds",
        "data.nonsense",
    }


@pytest.mark.parametrize(
    ("data", "lines", "starts", "reason"),
    [
        (setting("lws.version", 0.1), {("spec", "lws", "version"): "c.yaml:7"}, "c.yaml:7: spec.lws.version: ", "own"),
        (
            setting("grove.roles", [{"clique": "a"}]),
            {("spec", "grove", "roles", 0): "c.yaml:9", ("spec",): "c.yaml:4"},
            "c.yaml:9: spec.grove.roles[0].role: ",
            "a missing field is told at what it is missing in",
        ),
        (
            entry("grove.roles", "- clique: a"),
            {("data", "grove.roles"): "c.yaml:5"},
            "c.yaml:5: data.grove.roles[0].role: ",
            "the text of an entry has no lines of its own",
        ),
        ({**HEADER, "kind": "X", "spec": {"a": 1}}, {("kind",): "c.yaml:2"}, "c.yaml:2: kind: ", "the kind"),
        (entry("nonsense", "x"), {("data", "nonsense"): "c.yaml:6"}, "c.yaml:6: data.nonsense: ", "unknown entry"),
        (setting("lws.x", 1), {("spec", "lws", "x"): "c.yaml:8"}, "c.yaml:8: spec.lws.x: ", "unknown field"),
        (setting("lws.x", 1), {}, "spec.lws.x: ", "no line is known"),
    ],
)
def test_a_message_begins_with_file_and_line(data, lines, starts, reason):
    [message] = messages_of(data, lines)
    assert message.startswith(starts), reason


def test_codes_are_not_checked_without_a_catalogue():
    assert load(setting("ignore", ["x"]), lambda path: "", read_yaml).ignore == ("x",)


@pytest.mark.parametrize(
    ("patterns", "name", "expected", "reason"),
    [
        ((), "engine", False, "no pattern"),
        (("engine",), "engine", True, "the name itself"),
        (("eng",), "engine", False, "the whole name must match"),
        (("eng*",), "engine", True, "a star"),
        (("Engine",), "engine", False, "case counts"),
        (("engine-[0-9]",), "engine-7", True, "a class"),
        (("engine-[!0-9]",), "engine-7", False, "a negated class"),
        (("engine-?",), "engine-10", False, "one character"),
        (("a", "b*"), "bc", True, "any of several"),
        (("*/vllm-openai:*",), "registry.example/vllm/vllm-openai:v1", True, "a star covers slashes"),
        (("vllm/*",), "registry.example/vllm/vllm-openai:v1", False, "the whole reference"),
        (("*.py",), "a\n.py", True, "a line end is a character"),
    ],
)
def test_globs(patterns, name, expected, reason):
    assert matches(patterns, name) is expected, reason


def test_rules_cover_names():
    rule = RoleRule("*ds", "pre*", "gang")
    assert rule.covers("my-ds", "prefill")
    assert not rule.covers("my-ds2", "prefill")
    assert not rule.covers("my-ds", "decode")
    assert Entrypoint("*/vllm:*", ("vllm",)).covers("x/vllm:1")
    assert not Entrypoint("*/vllm:*", ("vllm",)).covers("vllm:1")


# --- The files that show the configuration to users.


def names_in(node: Any) -> set[str]:
    """Every property name of a schema, those of list entries too."""
    if isinstance(node, list):
        return {name for part in node for name in names_in(part)}
    if not isinstance(node, dict):
        return set()
    return set(node.get("properties", {})) | {name for part in node.values() for name in names_in(part)}


def value_at(data: Any, field: str) -> object:
    """The value of a dotted path; KeyError where there is none."""
    for name in field.split("."):
        data = data[name]
    return data


def uncommented(text: str) -> str:
    """functionconfig.yaml with each example in place of the default that follows it."""
    lines: list[str] = []
    example = False
    for line in text.splitlines():
        match = re.match(r"( *)#  ( *\S.*)", line)
        if match:
            lines.append(match[1] + match[2])
        elif not (example and line.strip()):
            lines.append(line)
        example = bool(match)
    return "\n".join(lines)


FUNCTION_CONFIG = (ROOT / "functionconfig.yaml").read_text("utf-8")
DOCS = (ROOT / "docs" / "configuration.md").read_text("utf-8")
EXAMPLES = [yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```$", DOCS, re.MULTILINE | re.DOTALL)]


def test_functionconfig_yaml_is_the_defaults():
    assert needs_check(yaml.safe_load(FUNCTION_CONFIG))
    assert settings_of(yaml.safe_load(FUNCTION_CONFIG)) == DEFAULTS


@pytest.mark.parametrize("field", FIELDS)
def test_functionconfig_yaml_shows_the_field(field):
    default = FIELDS[field]["default"]
    assert value_at(yaml.safe_load(FUNCTION_CONFIG)["spec"], field) == default
    *_, name = field.split(".")
    above = re.split(rf"^ *{name}:", FUNCTION_CONFIG, maxsplit=1, flags=re.MULTILINE)[0].splitlines()
    assert above[-1].lstrip().startswith("#"), "a comment stands above it"


def test_functionconfig_yaml_has_examples_that_load():
    changed = settings_of(yaml.safe_load(uncommented(FUNCTION_CONFIG)))
    same = {name for name in Settings._fields if getattr(changed, name) == getattr(DEFAULTS, name)}
    # These need no example: their comment names every value, or their default is one.
    assert same == {"lws_version", "rank_from", "prelude_shell", "on_conflict", "keep_ids", "mode"}
    assert names_in(schema()) - {"metadata"} <= set(re.findall(r"(\w+):", FUNCTION_CONFIG))


def test_functionconfig_yaml_names_the_schema():
    first = FUNCTION_CONFIG.splitlines()[0]
    match = re.fullmatch(r"# yaml-language-server: \$schema=\./(\S+)", first)
    assert match
    assert (ROOT / match[1]).read_text("utf-8") == schema_text(), f"write it anew: krmfn schema > {match[1]}"


def test_the_schema_describes_every_field():
    def check(node: dict[str, Any], path: str) -> None:
        assert node["description"].endswith("."), path
        for name, field in node.get("properties", {}).items():
            check(field, f"{path}.{name}")
        if "properties" in node:
            assert node["additionalProperties"] is False, path
        if "properties" in node.get("items", {}):
            check(node["items"], f"{path}[]")

    made = schema()
    check(made, "")
    assert made["title"] == "ModelplaneEnv"
    assert made["required"] == ["apiVersion", "kind"]
    assert "$ref" not in schema_text()
    for field, node in FIELDS.items():
        assert node["type"][-1] == "null", f"{field}: null means the default"
        assert None in node.get("enum", [None]), field
        assert node["default"] == value_at(yaml.safe_load(FUNCTION_CONFIG)["spec"], field)


@pytest.mark.parametrize(("field", "value", "reason"), [(row[0], row[1], row[4]) for row in GOOD])
def test_the_schema_lets_pass_what_load_reads(field, value, reason):
    assert fits(value, FIELDS[field]), reason


# What a pattern or a list of values cannot say.
BEYOND_SCHEMA = {
    "before LWS 0.3.0",
    "a candidate is before the release",
    "before the first",
    "an empty program",
    "misspelt code",
    "no such code",
    "an error's code",
}


@pytest.mark.parametrize(("field", "value", "reason"), [(row[0], row[1], row[4]) for row in BAD if row[0] in FIELDS])
def test_the_schema_refuses_what_load_refuses(field, value, reason):
    assert fits(value, FIELDS[field]) == (reason in BEYOND_SCHEMA)


def fits(value: Any, node: dict[str, Any]) -> bool:
    """JSON Schema in as far as the functionConfig's schema uses it."""
    types = {"string": str, "boolean": bool, "array": list, "object": dict, "null": type(None)}
    allowed = [node["type"]] if isinstance(node["type"], str) else node["type"]
    if not any(type(value) is types[name] for name in allowed):
        return False
    if isinstance(value, str) and "pattern" in node and not re.search(node["pattern"].replace("$", r"\Z"), value):
        return False
    if "enum" in node and value not in node["enum"]:
        return False
    if isinstance(value, list):
        return len(value) >= node.get("minItems", 0) and all(fits(part, node["items"]) for part in value)
    if isinstance(value, dict):
        known = node["properties"]
        return set(node.get("required", [])) <= set(value) <= set(known) and all(
            fits(part, known[name]) for name, part in value.items()
        )
    return True


def test_the_docs_have_examples_of_both_kinds():
    kinds = [example.get("kind", "") for example in EXAMPLES]
    assert kinds[:2] == ["ModelplaneEnv", "ConfigMap"]
    assert settings_of(EXAMPLES[0]) == settings_of(EXAMPLES[1])


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: json.dumps(example.get("spec"))[:60])
def test_the_docs_have_examples_that_load(example):
    whole = example if "kind" in example else {**HEADER, **example}
    assert settings_of(whole) != DEFAULTS


@pytest.mark.parametrize("field", FIELDS)
def test_the_docs_describe_the_field(field):
    row = re.search(rf"^\| \[`spec\.{re.escape(field)}`\]\(#(\S+)\) \| .* \| (.*) \|$", DOCS, re.MULTILINE)
    assert row, "the table has it"
    assert row[1] == f"spec.{field}".lower().replace(".", ""), "its link leads to its section"
    default = FIELDS[field]["default"]
    shown = {"0.6.0": '`"0.6.0"`', False: "`false`"}.get(default, f"`{default}`") if default else None
    if shown:
        assert row[2] == shown
    section = DOCS.partition(f"\n### spec.{field}\n")[2].partition("\n### ")[0]
    assert section, "it has a section"
    [example] = [yaml.safe_load(text) for text in re.findall(r"^```yaml\n(.*?)^```$", section, re.M | re.S)]
    assert value_at(example["spec"], field) != default
    for name in names_in(FIELDS[field]):
        assert f"| `{name}` |" in section, "fields of list entries are described too"


def test_the_docs_show_a_message_as_it_is():
    [shown] = re.findall(r"^```text\n(.*?)\n```$", DOCS, re.MULTILINE | re.DOTALL)
    lines: dict[tuple[str | int, ...], str] = {("spec", "grove", "rankFrom"): "modelplaneenv.yaml:7"}
    assert messages_of(setting("grove.rankFrom", "prelude"), lines) == [shown]


def test_metadata_yaml_is_complete():
    metadata = yaml.safe_load((ROOT / "metadata.yaml").read_text("utf-8"))
    assert {"image", "description", "tags", "license"} <= set(metadata)


def test_of_many_mistakes_the_first_are_shown():
    messages = messages_of({**HEADER, "spec": {f"x{i}": 1 for i in range(40_000)}})
    assert len(messages) == 21
    assert "39980 more" in messages[-1]
