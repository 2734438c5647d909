"""The laptop and the API server refuse the same objects with the same words, on thousands of invented ones."""

from __future__ import annotations

import json
import os
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpustack_models.core import crd, paths
from gpustack_models.core.kinds import BY_KIND, RESOURCES
from gpustack_models.core.rules import table
from gpustack_models.core.rules.judge import Request, judge
from gpustack_models.core.rules.model import Operation, Violation, Where
from gpustack_models.core.setting import BY_NAME
from tests.bed import Bed
from tests.cluster.changes import EDGES, changed
from tests.cluster.largest import LARGEST
from tests.resources import ALL, DEPLOYMENT, SETTING, Object

#: What the API server says when it stopped before the CEL rules.
UNCHECKED = "some validation rules were not checked"
CELS = [cel for resource in RESOURCES for row in table.judged(resource) for cel in row.cel]
WORDS = sorted((cel.message for cel in CELS), key=len, reverse=True)
#: Rules whose Python twin finds the field closer than CEL can.
CLOSER = {cel.message for cel in CELS if cel.locate}
CASES = settings(
    max_examples=int(os.environ.get("GSM_RULES_EXAMPLES", "200")),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)


@dataclass(frozen=True)
class Answer:
    """The API server's verdict: whether it took the object, and its causes as field and message."""

    accepted: bool
    causes: frozenset[tuple[str, str]]
    text: str

    @property
    def complete(self) -> bool:
        """Whether it judged the CEL rules too."""
        return bool(self.causes) and not any(UNCHECKED in message for _, message in self.causes)


class Server:
    """The real API server, over one connection."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def create(self, value: Object, *, dry: bool = True) -> Answer:
        return self._answer(self._client.post(self._url(value), params=self._how(dry=dry), json=value))

    def replace(self, value: Object) -> Answer:
        return self._answer(
            self._client.put(f"{self._url(value)}/{self._name(value)}", params=self._how(dry=True), json=value)
        )

    def get(self, value: Object) -> Object:
        found: Object = self._client.get(f"{self._url(value)}/{self._name(value)}").json()
        return found

    def delete(self, value: Object) -> None:
        self._client.delete(f"{self._url(value)}/{self._name(value)}")

    def _how(self, *, dry: bool) -> dict[str, str]:
        return {"fieldValidation": "Strict", **({"dryRun": "All"} if dry else {})}

    def _name(self, value: Object) -> str:
        return str(value["metadata"]["name"])

    def _url(self, value: Object) -> str:
        kind = BY_KIND[value["kind"]].KIND
        return f"/apis/{kind.api_version}/" + ("namespaces/default/" if kind.namespaced else "") + kind.plural

    def _answer(self, response: httpx.Response) -> Answer:
        status = response.json()
        causes = (status.get("details") or {}).get("causes") or []
        assert response.status_code in (200, 201, 400, 422), response.text
        return Answer(
            response.is_success,
            frozenset((cause.get("field", ""), cause["message"]) for cause in causes),
            response.text,
        )


@pytest.fixture(scope="module")
def server(bed: Bed) -> Iterator[Server]:
    for resource in RESOURCES:
        bed.kubectl.apply(crd.of(resource))
    for resource in RESOURCES:
        bed.kubectl("wait", "--for=condition=Established", f"crd/{resource.KIND.crd_name}", "--timeout=20s")
    config = json.loads(bed.kubeconfig("admin").read_text())
    headers = {"Authorization": f"Bearer {config['users'][0]['user']['token']}"}
    trust = ssl.create_default_context(cafile=str(bed.authority.pair.certificate))
    with httpx.Client(base_url=bed.server, headers=headers, verify=trust, timeout=30, trust_env=False) as client:
        yield Server(client)


@pytest.mark.parametrize("base", ALL.values(), ids=ALL)
def test_the_whole_objects_are_accepted(server: Server, base: Object) -> None:
    answer = server.create(base)
    assert answer.accepted, answer.text
    assert refusals(base) == ()


@pytest.mark.parametrize("base", ALL.values(), ids=ALL)
@CASES
@given(st.data())
def test_a_creation_is_judged_alike(server: Server, base: Object, data: st.DataObject) -> None:
    value = data.draw(changed(base))
    agree(server.create(value), refusals(value), value)


@pytest.mark.parametrize("name", BY_NAME)
def test_every_settings_value_is_judged_alike(server: Server, name: str) -> None:
    for text in EDGES:
        value = {**SETTING, "metadata": {"name": name, "namespace": "default"}, "spec": {"value": text}}
        agree(server.create(value), refusals(value), value)


@pytest.fixture(params=list(ALL.values()), ids=list(ALL))
def stored(server: Server, request: pytest.FixtureRequest) -> Iterator[Object]:
    assert server.create(request.param, dry=False).accepted
    yield server.get(request.param)
    server.delete(request.param)


@CASES
@given(st.data())
def test_an_update_is_judged_alike(server: Server, stored: Object, data: st.DataObject) -> None:
    base = {name: part for name, part in stored.items() if name != "metadata"}
    value = {**data.draw(changed(base, known_only=True)), "metadata": stored["metadata"]}
    agree(server.replace(value), refusals(value, stored), value)


def test_what_is_frozen_is_compared_whole_by_the_webhook_alone(server: Server) -> None:
    """CEL takes two objects for equal that have as many unknown members of other names: why that row is in both."""
    assert server.create(DEPLOYMENT, dry=False).accepted
    stored = server.get(DEPLOYMENT)
    try:
        value = {**stored, "spec": {**stored["spec"], "kvCache": {"connector": "Mooncake", "config": {"other": {}}}}}
        assert server.replace(value).accepted
        assert [each.rule for each in refusals(value, stored)] == ["deployment-frozen"]
        assert table.BY_ID["deployment-frozen"].where is Where.BOTH
    finally:
        server.delete(DEPLOYMENT)


@pytest.mark.parametrize("base", LARGEST.values(), ids=LARGEST)
def test_the_largest_objects_stay_within_the_cost_of_cel(server: Server, base: Object) -> None:
    assert refusals(base) == ()
    answer = server.create(base, dry=False)
    assert answer.accepted, answer.text
    try:
        stored = server.get(base)
        again = server.replace({**stored, "metadata": {**stored["metadata"], "labels": {"a": "b"}}})
        assert again.accepted, again.text
    finally:
        server.delete(base)


def refusals(value: Object, old: Object | None = None) -> tuple[Violation, ...]:
    """What the Python rows of the schema and of CEL refuse."""
    request = Request(Operation.UPDATE if old else Operation.CREATE)
    found = judge(BY_KIND[value["kind"]], value, old, request=request)
    return tuple(each for each in found if table.BY_ID[each.rule].where in (Where.SCHEMA, Where.CEL, Where.BOTH))


def agree(answer: Answer, found: tuple[Violation, ...], value: Any) -> None:
    """Both accept or both refuse; and as far as the API server came to CEL, with the same words and fields."""
    assert answer.accepted == (not found), f"{value}\nserver: {answer.text}\nlaptop: {found}"
    if answer.complete:
        theirs = {_told(field, words) for field, message in answer.causes if (words := spoken(message))}
        ours = {_told(paths.text(each.path), each.message) for each in found if table.BY_ID[each.rule].cel}
        assert theirs == ours, f"{value}\nserver: {answer.text}"


def _told(field: str, words: str) -> tuple[str, str]:
    return ("" if words in CLOSER else field, words)


def spoken(message: str) -> str:
    """The words of a rule in a cause, which may begin with the value that they are about."""
    return next((words for words in WORDS if message.endswith(words)), "")
