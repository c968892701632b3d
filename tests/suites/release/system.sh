#!/bin/sh
# Boots systemd with this machine's files, the deb installed and its service enabled: system.sh FOLDER DEB LISTEN ADMIN. What is changed is in a
# layer at FOLDER, and gone with the namespaces that this runs in: mounts, processes, cgroups, IPC, host name; the terminal is its console.
# The kernel's settings and devices are to be read alone, and no service of this machine is started but the package's.
set -eu
folder=$1 deb=$2 listen=$3 admin=$4
mount -t tmpfs tmpfs "$folder"
mkdir "$folder/upper" "$folder/work" "$folder/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" "$folder/root"
cp "$deb" "$folder/root/package.deb"
cd "$folder/root"

rm -rf etc/systemd/system etc/fstab
mkdir -p etc/systemd/system old
ln -s /dev/null etc/systemd/system/getty.target
ln -s /dev/null etc/systemd/system/console-getty.service
chroot . dpkg --install /package.deb
chroot . systemctl enable mcpedge.service
sed -i "s/127.0.0.1:8080/$listen/; s/127.0.0.1:9090/$admin/" etc/mcpedge/edge.yaml

mount -t proc proc proc
mount --bind -o ro proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=755 tmpfs dev
for device in null zero full random urandom tty; do cp -a "/dev/$device" dev/; done
mkdir dev/pts dev/shm
ln -s pts/ptmx dev/ptmx
touch dev/console
mount --bind "$(tty)" dev/console

pivot_root . old
umount -l /old
exec env container=other /lib/systemd/systemd --system --unit=multi-user.target --log-level=info --log-target=console
