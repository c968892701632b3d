import asyncio
import hashlib
import json
from pathlib import Path

import grpc
import pytest

import everything
from mcpedge.capability import Server
from mcpedge.capability.server import offer_of
from mcpedge.capability.skills import SkillFolder
from mcpedge.capability.testing import Client, accepted, call_tool, declined
from mcpedge.v1 import resources_pb2


def test_fixtures_are_those_of_the_go_service() -> None:
    """The names that the Go service adds are among the Python one's."""
    import re

    go = Path(__file__).parents[3] / "services/everything/server"
    text = "".join(f.read_text() for f in go.glob("*.go") if not f.name.endswith("_test.go"))
    s = everything.new()
    names = {t.listed.name for t in offer_of(s).tools.all()}
    wanted = set(re.findall(r'AddTool\(s, "([a-z0-9_]+)"', text)) | {"test_input_required_result_" + n for n in re.findall(r'prefix\+"(\w+)"', text)}
    assert len(wanted) > 20 and wanted <= names
    assert set(re.findall(r'Prompt\{Name: "(\w+)"', text)) - {"test_dynamic_prompt"} <= {p.listed.name for p in offer_of(s).prompts.all()}


def test_asking_tools_end() -> None:
    s = everything.new()
    out = call_tool(s, "multi_input", answers={"name": accepted({"answer": "Ada"}), "color": declined()})
    assert out.text == 'Answers: action=accept, content={"answer": "Ada"}; action=decline, content={}'


def test_lists_change() -> None:
    s = everything.new()
    assert call_tool(s, "test_trigger_tool_change").text == "Added test_dynamic_tool."
    assert call_tool(s, "test_dynamic_tool").text == "This tool is here for now."
    assert call_tool(s, "test_trigger_tool_change").text == "Removed test_dynamic_tool."


def test_skills_of_a_folder(tmp_path: Path) -> None:
    skill = tmp_path / "brew-tea"
    (skill / "more").mkdir(parents=True)
    front = "---\nname: brew-tea\ndescription: How to brew\n---\nBoil water.\n"
    (skill / "SKILL.md").write_text(front)
    (skill / "more" / "a b.txt").write_text("x")
    (skill / ".hidden").write_text("x")
    (tmp_path / "stray.txt").write_text("x")
    s = Server("test", "1")
    s.provide("skill://", SkillFolder(tmp_path, "skill://"))

    async def do() -> None:
        async with Client(s) as client:
            (listed,) = (await client.resources.ListSkills(resources_pb2.ListSkillsRequest())).skills
            assert listed.uri == "skill://brew-tea/SKILL.md" and json.loads(listed.frontmatter_json)["description"] == "How to brew"
            assert [f.uri for f in listed.files] == [listed.uri, "skill://brew-tea/more/a%20b.txt"]
            assert listed.files[0].sha256 == hashlib.sha256(front.encode()).digest()
            assert (await client.resources.GetSkill(resources_pb2.GetSkillRequest(uri=listed.uri))).skill == listed
            children = await client.resources.ListResourceDirectory(resources_pb2.ListResourceDirectoryRequest(uri="skill://brew-tea"))
            assert [(r.name, r.mime_type) for r in children.resources] == [("brew-tea", "text/markdown"), ("more", "inode/directory")]
            assert (await client.read_resource("skill://brew-tea/more/a%20b.txt")).result.contents[0].text == "x"
            for uri in ("skill://stray.txt", "skill://brew-tea/.hidden", "skill://brew-tea/../stray.txt", "skill://brew-tea/%2e%2e/stray.txt"):
                assert (await client.read_resource(uri)).failure is not None, uri
            for uri in ("skill://brew-tea%2fSKILL.md", "skill://%62rew-tea/SKILL.md", "skill://brew-tea/SKILL.md/"):  # which a policy does not know
                assert (await client.read_resource(uri)).failure is not None, uri
            with pytest.raises(grpc.aio.AioRpcError) as e:
                await client.resources.GetSkill(resources_pb2.GetSkillRequest(uri="skill://other/SKILL.md"))
            assert e.value.code() == grpc.StatusCode.NOT_FOUND

    asyncio.run(do())
    (skill / "SKILL.md").write_text("---\nname: other\ndescription: x\n---\n")
    with pytest.raises(ValueError, match="must have the name of its directory, 'brew-tea'"):
        SkillFolder(tmp_path, "skill://")
