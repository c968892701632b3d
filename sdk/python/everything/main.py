"""Serves the fixtures, and below skill:// the skills of the folder that SKILLS names."""

import os

from everything import new

server = new()
if folder := os.environ.get("SKILLS"):
    from mcpedge.capability.skills import SkillFolder

    server.provide("skill://", SkillFolder(folder, "skill://"))

server.run()
