#!/bin/sh
# Makes the user, and restarts a running service, which drains first. A service that does not run is not started: its settings come first.
set -e
if command -v systemd-sysusers >/dev/null; then
  systemd-sysusers mcpedge.conf
elif ! getent passwd mcpedge >/dev/null; then
  useradd --system --user-group --home-dir /var/lib/mcpedge --no-create-home --shell /usr/sbin/nologin mcpedge
fi
chown root:mcpedge /etc/mcpedge /etc/mcpedge/edge.yaml
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-restart mcpedge.service
fi
