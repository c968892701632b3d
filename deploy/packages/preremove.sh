#!/bin/sh
# Stops the service where the package goes, and not where a new version of it comes: dpkg calls this "remove" or "upgrade", rpm 0 or 1.
set -e
case "$1" in
  remove | 0) [ ! -d /run/systemd/system ] || systemctl disable --now mcpedge.service ;;
esac
