"""Contract E: where our entries stand in env, and what becomes of entries that are there already."""

from __future__ import annotations

import textwrap

import pytest

from tests.contract.manifests import lws, pcs
from tests.contract.world import A8, A12, A14, ADDRESS, HELPERS, RANK, envs, inject

LWS_ADDRESS, LWS_RANK = (ADDRESS, "$(LWS_LEADER_ADDRESS)"), (RANK, "$(LWS_WORKER_INDEX)")
LABEL = "metadata.labels['leaderworkerset.sigs.k8s.io/worker-index']"
G3 = (
    "$(MODELPLANE_GROVE_PCSG)-$(MODELPLANE_GROVE_PCSG_INDEX)-leader-0."
    "$(MODELPLANE_GROVE_PCS)-$(MODELPLANE_GROVE_PCS_INDEX).$(MODELPLANE_GROVE_NAMESPACE).svc.cluster.local"
)
G4 = "$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-leader-0.$(GROVE_HEADLESS_SERVICE)"


def work(text: str) -> list[tuple[str, object]]:
    """The worker's env."""
    return envs(text)["work"]


# -- E1, E2

SHAPES = [
    (
        "command: [/engine]\n",
        """\
  image: registry.example/engine:1
  command: [/engine]
""",
        "no env: right behind the name",
    ),
    (
        """\
        env:
        - name: A
          value: $(MODELPLANE_RANK)
        command: [/engine]
        """,
        """\
  image: registry.example/engine:1
  env:
  @
  - name: A
    value: $(MODELPLANE_RANK)
  command: [/engine]
""",
        "env as the middle key, compact",
    ),
    (
        """\
        command: [/engine]
        env:
            # about A
            - name: A # one
              value: a

            - name: B
              value: b
        """,
        """\
  image: registry.example/engine:1
  command: [/engine]
  env:
      @
      # about A
      - name: A # one
        value: a

      - name: B
        value: b
""",
        "wide, as the last key, with comments and a blank line",
    ),
    (
        'env: [{name: A, value: "$(MODELPLANE_RANK)"}]\n',
        """\
  image: registry.example/engine:1
  env: [{name: MODELPLANE_LEADER_ADDRESS, value: $(LWS_LEADER_ADDRESS)}, {name: MODELPLANE_RANK, \
value: $(LWS_WORKER_INDEX)}, {name: A, value: "$(MODELPLANE_RANK)"}]
""",
        "flow",
    ),
    (
        "env: []\n",
        """\
  image: registry.example/engine:1
  env: [{name: MODELPLANE_LEADER_ADDRESS, value: $(LWS_LEADER_ADDRESS)}, {name: MODELPLANE_RANK, \
value: $(LWS_WORKER_INDEX)}]
""",
        "empty flow",
    ),
    ("env:\ntty: true\n", "  image: registry.example/engine:1\n  env:\n  @\n  tty: true\n", "null"),
    ("env: ~ # none\n", "  image: registry.example/engine:1\n  env: # none\n  @\n", "null as a word"),
]


@pytest.mark.parametrize(("body", "expected", "reason"), SHAPES, ids=[row[-1] for row in SHAPES])
def test_e1_comes_before_every_user_entry_in_every_style(body, expected, reason):
    entries = (
        "- name: MODELPLANE_LEADER_ADDRESS\n  value: $(LWS_LEADER_ADDRESS)\n"
        "- name: MODELPLANE_RANK\n  value: $(LWS_WORKER_INDEX)\n"
    )
    lines = []
    for line in expected.splitlines(keepends=True):
        blank = len(line) - len(line.lstrip())
        lines.append(textwrap.indent(entries, " " * blank) if line.strip() == "@" else line)
    new = "  env:\n" + textwrap.indent(entries, "  ")
    if reason.startswith("no env"):
        lines.insert(0, new)
    got = inject(lws(body)).text
    assert got.partition("containers:\n")[2] == textwrap.indent("- name: work\n" + "".join(lines), " " * 8), reason


def test_e1_helpers_then_address_then_rank():
    done = inject(pcs("command: [/engine, $(MODELPLANE_RANK)]\nenv: [{name: A, value: b}]"))
    needed = [name for name in HELPERS if name != "MODELPLANE_GROVE_PCLQ"]
    assert [name for name, _ in work(done.text)] == [*needed, ADDRESS, RANK, "A"]


def test_e1_the_order_of_the_users_entries_stays():
    body = "env:\n" + "".join(f"- name: {name}\n  value: x\n" for name in "ZAMB")
    assert [name for name, _ in work(inject(lws(body)).text)] == [ADDRESS, RANK, "Z", "A", "M", "B"]


@pytest.mark.parametrize("body", ["", "env: []", "env: [{name: A, value: b}]"])
def test_e2_a_number_is_quoted(body):
    assert 'value: "0"' in inject(lws("", body)).text


# -- E3


def env(*entries: tuple[str, str]) -> str:
    """Lines of an env list; a value with a bracket in front is a whole valueFrom."""
    lines = ["env:"]
    for name, value in entries:
        key = "valueFrom" if value.startswith("{") else "value"
        lines += [f"- name: {name}", f"  {key}: {value}"]
    return "\n".join(lines)


FIELD = f'{{fieldRef: {{fieldPath: "{LABEL}"}}}}'
FIELD_V1 = f'{{fieldRef: {{apiVersion: v1, fieldPath: "{LABEL}"}}}}'

# Template, lws.version, name, value, verdict: right, wrong (a form of ours), or own (the user's).
LWS_FORMS = [
    ("work", "0.6.0", ADDRESS, "$(LWS_LEADER_ADDRESS)", "right", "L2"),
    ("lead", "0.6.0", ADDRESS, "$(LWS_LEADER_ADDRESS)", "right", "L1"),
    ("work", "0.3.0", ADDRESS, '"$(LWS_LEADER_ADDRESS)"', "right", "in quotes it is the same value"),
    ("work", "0.6.0", ADDRESS, "$(LWS_LEADER_ADDRESS):1234", "own", "more than the address"),
    ("work", "0.6.0", ADDRESS, "my-leader.svc", "own", "a name of the user's"),
    ("work", "0.6.0", ADDRESS, "", "own", "nothing"),
    ("work", "0.6.0", ADDRESS, "{fieldRef: {fieldPath: metadata.name}}", "own", "from elsewhere"),
    ("work", "0.6.0", RANK, "$(LWS_WORKER_INDEX)", "right", "L2"),
    ("work", "0.6.0", RANK, FIELD, "right", "L4 holds on newer releases too"),
    ("work", "0.6.0", RANK, FIELD_V1, "right", "the API server's default filled in"),
    ("work", "0.5.0", RANK, FIELD, "right", "L4"),
    ("work", "0.5.9", RANK, "$(LWS_WORKER_INDEX)", "wrong", "the variable is not there yet"),
    ("work", "0.6.0", RANK, '"0"', "wrong", "a constant in a template of several pods"),
    ("work", "0.6.0", RANK, '"1"', "own", "no form of ours on LWS"),
    ("work", "0.6.0", RANK, "$(MY_RANK)", "own", "the user's variable"),
    ("work", "0.6.0", RANK, "{fieldRef: {fieldPath: \"metadata.labels['mine']\"}}", "own", "another label"),
    ("work", "0.6.0", RANK, "{configMapKeyRef: {name: c, key: k}}", "own", "from a ConfigMap"),
    ("lead", "0.6.0", RANK, '"0"', "right", "L1"),
    ("lead", "0.5.0", RANK, '"0"', "right", "L1"),
    ("lead", "0.6.0", RANK, "'0'", "right", "another quote"),
    ("lead", "0.6.0", RANK, "$(LWS_WORKER_INDEX)", "right", "L7"),
    ("lead", "0.5.0", RANK, FIELD, "right", "L7"),
    ("lead", "0.5.0", RANK, "$(LWS_WORKER_INDEX)", "wrong", "L7, but not before 0.6.0"),
    ("lead", "0.6.0", RANK, "0", "wrong", "E2: the API server refuses a number"),
    ("lead", "0.6.0", RANK, '"1"', "own", "not the leader's rank"),
]


@pytest.mark.parametrize(
    ("template", "version", "name", "value", "verdict", "reason"),
    LWS_FORMS,
    ids=[f"{row[0]}-{row[1]}-{row[5]}" for row in LWS_FORMS],
)
@pytest.mark.parametrize("conflict", ["Replace", "Keep"])
def test_e3_lws(template, version, name, value, verdict, reason, conflict):
    other = (RANK, FIELD) if name == ADDRESS else (ADDRESS, "$(LWS_LEADER_ADDRESS)")
    body = env(("A", "a"), other, (name, value), ("B", "b"))
    source = lws(body) if template == "work" else lws("", body)
    done = inject(source, lws=version, on_conflict=conflict)
    before, after = envs(source)[template], envs(done.text)[template]
    right = "$(LWS_LEADER_ADDRESS)" if name == ADDRESS else '"0"' if template == "lead" else None
    right = right or ("$(LWS_WORKER_INDEX)" if version == "0.6.0" else LABEL)
    codes = [code for code in done.codes if code != "injected"]
    if verdict == "right":
        assert after == before, reason
        assert not codes
    elif verdict == "own" and conflict == "Keep":
        assert after == before, reason
        assert codes == ["definition-kept"]
        found = done.only("definition-kept")
        assert (found.severity, found.proposed) == ("info", right.strip('"'))
    else:
        new, rest = (name, right.strip('"')), [pair for pair in before if pair[0] != name]
        in_place = [new if pair[0] == name else pair for pair in before]  # a form of ours gives way where it stands
        assert after == ([new, *rest] if verdict == "own" else in_place), reason
        assert codes == ["definition-replaced" if verdict == "own" else "form-replaced"]
        found = done.only(codes[0])
        assert found.severity == ("warning" if verdict == "own" else "info")
        assert found.proposed == right.strip('"')
        assert found.field.endswith("containers[0].env[2]")
        if verdict == "own" and not value.startswith("{"):
            assert found.current == value.strip('"')


# Where the entry stands, what stands around it -> the names as they stand after.
PLACES = [
    ([(ADDRESS, "A!"), (RANK, "R!"), ("X", "x")], None, "in front"),
    ([("X", "x"), (RANK, "R!"), (ADDRESS, "A!")], None, "late and in another order, but nobody refers to them"),
    (
        [("X", "$(Y)"), (ADDRESS, "A!"), ("Y", "$(MODELPLANE_RANK)"), (RANK, "R!")],
        [RANK, "X", ADDRESS, "Y"],
        "one late",
    ),
    (
        [("X", "$(MODELPLANE_LEADER_ADDRESS)"), (RANK, "R!"), (ADDRESS, "A!")],
        [ADDRESS, "X", RANK],
        "the other one stays where it is",
    ),
    (
        [("X", "$(MODELPLANE_LEADER_ADDRESS)$(MODELPLANE_RANK)"), (RANK, "R!"), ("Y", "y"), (ADDRESS, "A!")],
        [ADDRESS, RANK, "X", "Y"],
        "both late: the contract's order",
    ),
    ([("X", "$$(MODELPLANE_RANK)"), (ADDRESS, "A!"), (RANK, "R!")], None, "an escaped reference is none"),
    ([("X", "${MODELPLANE_RANK}"), (ADDRESS, "A!"), (RANK, "R!")], None, "a shell's reference is none to the kubelet"),
    ([(RANK, "R!"), ("X", "x")], [ADDRESS, RANK, "X"], "a missing one comes before the one in front"),
    ([("X", "x"), (RANK, "R!")], [ADDRESS, "X", RANK], "a missing one in front, the other stays"),
    ([("X", "x"), (ADDRESS, "A!"), (ADDRESS, "A!"), (RANK, "R!")], ["X", ADDRESS, RANK], "twice: the first stays"),
    ([(ADDRESS, "A!"), ("X", "x"), (RANK, "R!"), (RANK, "R!")], [ADDRESS, "X", RANK], "twice, late"),
    ([(ADDRESS, "A!"), (RANK, "mine"), ("X", "x"), (RANK, "R!")], [ADDRESS, "X", RANK], "twice: the right one stays"),
]


@pytest.mark.parametrize(("entries", "expected", "reason"), PLACES, ids=[row[-1] for row in PLACES])
def test_e3_place_of_an_entry_that_stays(entries, expected, reason):
    shown = {"A!": "$(LWS_LEADER_ADDRESS)", "R!": "$(LWS_WORKER_INDEX)"}
    source = lws(env(*[(name, shown.get(value, value)) for name, value in entries]))
    done = inject(source)
    if expected is None:
        assert done.text == source, reason
        assert done.codes == []
    else:
        assert [name for name, _ in work(done.text)] == expected, reason
        assert dict([LWS_ADDRESS, LWS_RANK]).items() <= dict(work(done.text)).items()
        assert "injected" in done.codes


def test_e3_a_late_entry_is_moved_with_its_comments():
    done = inject(
        lws(
            """\
            env:
            - name: URL # the one that needs it
              value: http://$(MODELPLANE_LEADER_ADDRESS)
            - value: "$(LWS_LEADER_ADDRESS)"   # ours
              name: MODELPLANE_LEADER_ADDRESS  # late
            # of the rank
            - {name: MODELPLANE_RANK, value: '$(LWS_WORKER_INDEX)'} # stays
            """
        )
    )
    body = """\
  env:
  - value: "$(LWS_LEADER_ADDRESS)"   # ours
    name: MODELPLANE_LEADER_ADDRESS  # late
  - name: URL # the one that needs it
    value: http://$(MODELPLANE_LEADER_ADDRESS)
  # of the rank
  - {name: MODELPLANE_RANK, value: '$(LWS_WORKER_INDEX)'} # stays
"""
    assert done.text.endswith(textwrap.indent(body, " " * 8))


@pytest.mark.parametrize("twice", ["$(LWS_WORKER_INDEX)", "mine"])
@pytest.mark.parametrize("conflict", ["Replace", "Keep"])
def test_e3_two_entries_of_a_name_collapse_to_one(twice, conflict):
    done = inject(lws(env((RANK, "one"), ("X", "x"), (RANK, twice))), on_conflict=conflict)
    kept = "$(LWS_WORKER_INDEX)" if twice != "mine" or conflict == "Replace" else "mine"
    assert [value for name, value in work(done.text) if name == RANK] == [kept]


def test_e3_keep_moves_the_users_own_to_the_front_if_it_is_late():
    done = inject(lws(env(("URL", "x$(MODELPLANE_LEADER_ADDRESS)"), (ADDRESS, "mine.svc"))), on_conflict="Keep")
    assert work(done.text) == [(ADDRESS, "mine.svc"), LWS_RANK, ("URL", "x$(MODELPLANE_LEADER_ADDRESS)")]


def test_e3_keep_leaves_a_definition_behind_what_it_is_made_of():
    entries = [("HOST", "h"), ("URL", "x$(MODELPLANE_LEADER_ADDRESS)"), (ADDRESS, "$(HOST).svc")]
    done = inject(lws(env(*entries)), on_conflict="Keep")
    assert work(done.text) == [LWS_RANK, *entries]


# -- E3 on Grove. G3 stands for the helpers and the address over them.

STAND_IN = "$((0+1+GROVE_PCLQ_POD_INDEX))"
FILE_REF = "{fileKeyRef: {volumeName: modelplane-env, path: env, key: MODELPLANE_RANK}}"
POD_LABEL = "metadata.labels['grove.io/podclique-pod-index']"
GROUP_LABEL = "metadata.labels['grove.io/podcliquescalinggroup-pod-index']"

# Container, pods of the worker, release, value of the rank, verdict: right, newer, wrong or own.
GROVE_RANKS = [
    ("lead", 3, None, '"0"', "right", "G6"),
    ("lead", 3, A14, '"0"', "right", "G6"),
    ("lead", 3, None, '"1"', "wrong", "a literal, but not the leader's"),
    ("lead", 3, None, "0", "wrong", "E2: a number without quotes"),
    ("lead", 3, None, "$(GROVE_PCSG_POD_INDEX)", "newer", "0 in the leader from alpha.14-rc1 on"),
    ("lead", 3, A14, "$(GROVE_PCSG_POD_INDEX)", "wrong", "right, but not the form of this configuration"),
    ("lead", 3, None, "$(GROVE_PCLQ_POD_INDEX)", "newer", "0 in the leader from alpha.12-rc2 on"),
    ("lead", 3, None, STAND_IN, "wrong", "a stand-in in the leader"),
    ("lead", 3, None, "first", "own", "no number"),
    ("lead", 3, A14, '"-1"', "own", "no decimal literal"),
    ("work", 1, None, '"1"', "right", "G8: one pod, so a literal"),
    ("work", 1, A12, '"1"', "right", "G8"),
    ("work", 1, A14, '"1"', "wrong", "G7, also for one replica"),
    ("work", 1, None, '"2"', "wrong", "not the offset"),
    ("work", 1, None, "$(GROVE_PCSG_POD_INDEX)", "newer", "G7 on alpha.14-rc1"),
    ("work", 1, A14, "$(GROVE_PCSG_POD_INDEX)", "right", "G7"),
    ("work", 3, A14, "$(GROVE_PCSG_POD_INDEX)", "right", "G7"),
    ("work", 3, None, "$(GROVE_PCSG_POD_INDEX)", "newer", "G7 on alpha.14-rc1"),
    ("work", 3, None, f'{{fieldRef: {{fieldPath: "{GROUP_LABEL}"}}}}', "newer", "the label of G7's variable"),
    ("work", 3, A14, f'{{fieldRef: {{fieldPath: "{GROUP_LABEL}"}}}}', "wrong", "not the form of this configuration"),
    ("work", 3, A12, "$(GROVE_PCSG_POD_INDEX)", "wrong", "the variable is not there yet"),
    ("work", 3, None, "$(GROVE_PCLQ_POD_INDEX)", "wrong", "counts from 0: the leader's rank"),
    ("work", 3, None, f'{{fieldRef: {{fieldPath: "{POD_LABEL}"}}}}', "wrong", "the same as a label"),
    ("work", 3, None, '"1"', "wrong", "a literal in a clique of several pods"),
    ("work", 3, None, STAND_IN, "right", "P1; only the prelude is missing"),
    ("work", 3, A8, STAND_IN, "right", "P1"),
    ("work", 3, None, "$((0+7+GROVE_PCLQ_POD_INDEX))", "wrong", "another offset"),
    ("work", 3, A14, STAND_IN, "wrong", "G7"),
    ("work", 3, None, FILE_REF, "wrong", "G9, but rankFrom is Prelude"),
    ("work", 3, None, "{fileKeyRef: {volumeName: mine, path: env, key: R}}", "own", "the user's file"),
    ("work", 3, None, "$((GROVE_PCLQ_POD_INDEX + 1))", "own", "the interim form of users"),
    ("work", 3, None, "$(MY_RANK)", "own", "the user's variable"),
]


@pytest.mark.parametrize(
    ("where", "pods", "release", "value", "verdict", "reason"),
    GROVE_RANKS,
    ids=[f"{row[0]}-{row[2]}-{row[5]}" for row in GROVE_RANKS],
)
@pytest.mark.parametrize("conflict", ["Replace", "Keep"])
def test_e3_grove_rank(where, pods, release, value, verdict, reason, conflict):
    source = pcs(pods=pods, **{"leader" if where == "lead" else "worker": f"command: [/engine]\n{env((RANK, value))}"})
    plain = inject(pcs(pods=pods), grove=release)
    wanted = dict(envs(plain.text)[where])[RANK]
    done = inject(source, grove=release, on_conflict=conflict)
    got = dict(envs(done.text)[where])[RANK]
    codes = [code for code in done.codes if code != "injected"]
    if verdict == "right":
        assert (got, codes) == (wanted, []), reason
    elif verdict == "newer":
        assert (got, codes) == (dict(envs(source)[where])[RANK], ["newer-form"]), reason
        assert "state grove.version" in done.only("newer-form").message
    elif verdict == "wrong":
        assert (got, codes) == (wanted, ["form-replaced"]), reason
    elif conflict == "Keep":
        assert (got, codes) == (dict(envs(source)[where])[RANK], ["definition-kept"]), reason
        assert "krmfn prelude" not in done.text.partition("name: work")[2] or where == "lead"
    else:
        assert (got, codes) == (wanted, ["definition-replaced"]), reason


GROVE_ADDRESSES = [
    ("work", None, G3, "right", "G3"),
    ("lead", None, G3, "right", "G3"),
    ("work", A12, G4, "right", "G4"),
    ("work", None, G4, "newer", "G4, where grove.version is not stated"),
    ("work", A8, G4, "wrong", "alpha.8 appends its variables"),
    ("work", A12, G3, "wrong", "right, but not the form of this configuration"),
    ("work", None, G4.replace("leader-0", "boss-0"), "wrong", "another clique's first pod"),
    ("work", None, "$(GROVE_PCLQ_NAME)-0.$(GROVE_HEADLESS_SERVICE)", "wrong", "the worker's own first pod"),
    ("lead", None, "$(GROVE_PCLQ_NAME)-0.$(GROVE_HEADLESS_SERVICE)", "newer", "the leader may name itself"),
    ("work", None, "$(GROVE_PCS_NAME)-$(GROVE_PCS_INDEX)-leader-0.$(GROVE_HEADLESS_SERVICE)", "wrong", "G5 in a group"),
    ("work", None, "$(GROVE_PCS_NAME)-0-engine-0-leader-0.$(GROVE_HEADLESS_SERVICE)", "own", "an index baked in"),
    ("work", None, "10.0.0.1", "own", "an address of the user's"),
]


@pytest.mark.parametrize(
    ("where", "release", "value", "verdict", "reason"), GROVE_ADDRESSES, ids=[row[-1] for row in GROVE_ADDRESSES]
)
@pytest.mark.parametrize("conflict", ["Replace", "Keep"])
def test_e3_grove_address(where, release, value, verdict, reason, conflict):
    source = pcs(**{"leader" if where == "lead" else "worker": f"command: [/engine]\n{env((ADDRESS, value))}"})
    wanted = dict(envs(inject(pcs(), grove=release).text)[where])
    done = inject(source, grove=release, on_conflict=conflict)
    got = dict(envs(done.text)[where])
    codes = [code for code in done.codes if code != "injected"]
    if verdict == "right" or verdict == "wrong" or (verdict == "own" and conflict == "Replace"):
        expected = {"right": [], "wrong": ["form-replaced"], "own": ["definition-replaced"]}[verdict]
        assert (got, codes) == (wanted, expected), reason
    else:
        assert got[ADDRESS] == value, reason
        assert not set(HELPERS) & set(got), "no helpers for an address that does not use them"
        assert codes == ["newer-form" if verdict == "newer" else "definition-kept"]


@pytest.mark.parametrize("conflict", ["Replace", "Keep"])
@pytest.mark.parametrize(
    ("body", "settings", "reason"),
    [
        ("args: [--rank=$(MODELPLANE_RANK)]", {}, "P6: no command"),
        ("command: [/engine, $(MODELPLANE_RANK)]", {"skip": ("work",)}, "P9: prelude.skip"),
    ],
)
def test_e3_the_users_own_rank_stays_where_there_is_no_value_to_give(body, settings, reason, conflict):
    done = inject(pcs(f"{body}\n{env((RANK, '$(MY_RANK)'))}"), on_conflict=conflict, **settings)
    assert dict(work(done.text))[RANK] == "$(MY_RANK)", reason
    assert [code for code in done.codes if code != "injected"] == ["definition-stays"]
    assert done.only("definition-stays").severity == "warning"
    assert "krmfn prelude" not in done.text


def test_e3_a_wrong_form_goes_where_there_is_no_value_to_give():
    done = inject(pcs(env((RANK, STAND_IN), ("A", "b"))))
    assert RANK not in dict(work(done.text))
    assert "no-rank" in done.codes
    assert "form-replaced" in done.codes


def test_e3_helpers_that_are_no_longer_needed_go():
    old = inject(pcs()).text
    done = inject(old, grove=A12)
    assert [name for name, _ in work(done.text)] == [ADDRESS, RANK]
    assert done.text == inject(pcs(), grove=A12).text


def test_e3_a_late_helper_is_moved_with_its_comments():
    text = inject(pcs()).text
    helper = "                - name: MODELPLANE_GROVE_PCS # mine\n"
    lines = text.splitlines(keepends=True)
    at = max(i for i, line in enumerate(lines) if "name: MODELPLANE_GROVE_PCS\n" in line)
    entry = [lines[at].replace("PCS\n", "PCS # mine\n"), *lines[at + 1 : at + 4]]
    del lines[at : at + 4]
    end = max(i for i, line in enumerate(lines) if f"name: {RANK}" in line) + 2
    source = "".join([*lines[:end], *entry, *lines[end:]])
    assert helper.strip() in source
    done = inject(source)
    names = [name for name, _ in work(done.text)]
    assert names.index("MODELPLANE_GROVE_PCS") < names.index(ADDRESS)
    assert helper.strip() in done.text


@pytest.mark.parametrize(
    ("env", "names", "reason"),
    [
        (
            [("LWS_WORKER_INDEX", "7"), ("X", f"r$({RANK})"), LWS_RANK, LWS_ADDRESS],
            [RANK, "LWS_WORKER_INDEX", "X", ADDRESS],
            "a variable of the platform that the template sets too: the webhook puts its own in front",
        ),
        (
            [("LWS_LEADER_ADDRESS", "a"), ("X", f"$({ADDRESS})"), LWS_ADDRESS, LWS_RANK],
            [ADDRESS, "LWS_LEADER_ADDRESS", "X", RANK],
            "the same for the address",
        ),
    ],
)
def test_e3_a_form_of_ours_goes_to_the_front_whatever_the_template_sets(env, names, reason):
    source = lws("env:\n" + "".join(f"- name: {name}\n  value: {value!r}\n" for name, value in env))
    assert [name for name, _ in work(inject(source).text)] == names, reason


@pytest.mark.parametrize("text", [lws, pcs])
@pytest.mark.parametrize("rank", ["", f"- {{name: {RANK}, value: mine}}\n"])
def test_e3_an_address_that_is_kept_stands_behind_the_rank_that_it_is_made_of(text, rank):
    source = text(f"command: [/x]\nenv:\n- {{name: {ADDRESS}, value: h-$({RANK})}}\n{rank}- {{name: A}}\n")
    names = [name for name, _ in work(inject(source, on_conflict="Keep").text)]
    assert names == [RANK, ADDRESS, "A"]


def test_e3_what_a_kept_definition_is_made_of_stays():
    """The same address in another cluster domain, over the helper entries of an earlier run."""
    text = inject(pcs("command: [/x]")).text.replace("cluster.local", "my.domain")
    done = inject(text, on_conflict="Keep")
    assert done.text == text
    assert "definition-kept" in done.codes
    replaced = inject(text, grove=A12)
    assert [name for name, _ in work(replaced.text)] == [ADDRESS, RANK]


# -- E4


def test_e4_repeated_names_of_the_users_are_told_and_left():
    source = lws("env:\n- {name: A, value: a}\n- {name: B, value: b}\n- {name: A, value: c}\n")
    done = inject(source)
    assert [pair for pair in work(done.text) if pair[0] not in (ADDRESS, RANK)] == envs(source)["work"]
    found = done.only("duplicate-env")
    assert (found.severity, found.field[-11:]) == ("warning", "env[2].name")


def test_e4_is_told_of_init_containers_and_grove_too():
    twice = "env: [{name: A, value: a}, {name: A, value: a}]"
    done = inject(pcs(f"command: [/engine]\n{twice}", before=f"initContainers:\n- name: ini\n  {twice}"))
    assert done.codes.count("duplicate-env") == 2
