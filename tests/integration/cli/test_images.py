"""Owns `oci://`: a tag is answered with the reference by digest, by the registry's own rules of access."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
import yaml

from tests.integration.cli.conftest import Gsm
from tests.integration.cli.registry import Registry, digest, manifest, serving

V1, V2 = manifest(100, 23), manifest(7)
INDEX = json.dumps({"schemaVersion": 2, "manifests": []}).encode()
IMAGES = {"team/qwen": {"v1": V1, "latest": V2, "all": INDEX}}


def docker_login(folder: Path, registry: Registry) -> dict[str, str]:
    auth = base64.b64encode(":".join(registry.user).encode()).decode()
    (folder / "config.json").write_text(json.dumps({"auths": {registry.host: {"auth": auth}}}))
    return {"DOCKER_CONFIG": str(folder)}


def test_a_tag_is_answered_by_digest(gsm: Gsm) -> None:
    with serving(Registry(IMAGES)) as registry:
        image = f"oci://{registry.host}/team/qwen"
        names = gsm("resolve", f"{image}:v1", image, f"{image}@{digest(V1)}", "-o", "name")
        assert names.out.split() == [f"{image}@{digest(V1)}", f"{image}@{digest(V2)}", f"{image}@{digest(V1)}"]
        shown = gsm("resolve", f"{image}:v1")
        fields = dict(line.split(maxsplit=1) for line in shown.out.splitlines())
        assert fields == {
            "reference": f"{image}:v1",
            "pinned": f"{image}@{digest(V1)}",
            "digest": digest(V1),
            "size": "123 B",
            "access": "readable",
        }
        (index,) = gsm("resolve", f"{image}:all", "-o", "json").json
        assert "sizeBytes" not in index
        made = gsm("resolve", f"{image}:v1", "-o", "artifact")
        spec = yaml.safe_load(made.out)["spec"]
        assert spec == {"source": {"image": {"reference": f"{registry.host}/team/qwen@{digest(V1)}"}}}
        again = gsm("resolve", "-f", "-", "-o", "name", stdin=made.out)
        assert again.out == f"{image}@{digest(V1)}\n"


@pytest.mark.parametrize("auth", ["basic", "bearer"])
def test_the_credentials_of_docker_login_are_used_and_shown_nowhere(auth: str, gsm: Gsm, tmp_path: Path) -> None:
    with serving(Registry(IMAGES, auth=auth)) as registry:
        image = f"oci://{registry.host}/team/qwen:v1"
        refused = gsm("resolve", image)
        assert refused.status == 11
        assert f"docker login {registry.host}" in refused.err
        ran = gsm("resolve", image, env=docker_login(tmp_path, registry))
        assert (ran.status, digest(V1) in ran.out) == (0, True)
        assert registry.basic in {given for _, given in registry.asked}
        for secret in (registry.user[1], registry.basic.removeprefix("Basic ")):
            assert secret not in ran.out + ran.err + refused.err


REFUSED = {
    "no-such-tag": (Registry(IMAGES), "team/qwen:v9", 10),
    "no-such-digest": (Registry(IMAGES), "team/qwen@sha256:" + "0" * 64, 10),
    "no-such-image": (Registry(IMAGES), "team/none:v1", 11),
    "an-error": (Registry(IMAGES, status=500), "team/qwen:v1", 12),
    "too-many-requests": (Registry(IMAGES, status=429), "team/qwen:v1", 12),
    "another-digest-than-it-says": (Registry(IMAGES, lie="sha256:" + "1" * 64), "team/qwen:v1", 12),
    "not-a-manifest": (Registry({"team/qwen": {"v1": b"<html>"}}), "team/qwen:v1", 12),
    "no-object": (Registry({"team/qwen": {"v1": b"[]"}}), "team/qwen:v1", 12),
    "a-layer-without-a-size": (Registry({"team/qwen": {"v1": b'{"layers": [{}]}'}}), "team/qwen:v1", 12),
    "too-large": (Registry({"team/qwen": {"v1": b" " * (5 << 20)}}), "team/qwen:v1", 17),
    "a-bad-tag": (Registry(IMAGES), "team/qwen:-v1", 2),
    "a-bad-name": (Registry(IMAGES), "Team/Qwen:v1", 2),
}


@pytest.mark.parametrize(("registry", "image", "status"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(registry: Registry, image: str, status: int, gsm: Gsm) -> None:
    with serving(registry):
        ran = gsm("resolve", f"oci://{registry.host}/{image}", "--timeout", "5")
    assert (ran.status, ran.out) == (status, "")
    assert ran.err.count("error:") == 1


def test_a_registry_that_is_not_there_is_given_up_on_at_once(gsm: Gsm) -> None:
    ran = gsm("resolve", "oci://127.0.0.1:9/team/qwen:v1")
    assert ran.status == 12
    assert "Connection refused" in ran.err


def test_patterns_say_nothing_of_an_image(gsm: Gsm) -> None:
    ran = gsm("resolve", "oci://127.0.0.1:9/team/qwen:v1", "--allow", "*.json")
    assert ran.status == 2
    assert "are for hub sources" in ran.err
