# Run by an agent that may write in its workspace, its home and /tmp: each line
# tries to change /srv/shut, which is its user's, and names itself if it can.
# $1 is a process outside of its tree that is in /srv/shut and has it open.
first=/proc/1/root # what process 1 sees
left=0
try() {
	"$@" >/tmp/said 2>&1 && echo "left: $*"
	left=$((left + 1))
}
try touch /srv/shut/a
try sh -c 'echo x >>/srv/shut/kept'
try touch "/proc/$1/root""/srv/shut/a"
try touch "/proc/$1/cwd/a"
try sh -c "echo x >>/proc/$1/fd/5"
try sh -c "exec 3<>/proc/$1/mem"
try touch "$first"/srv/shut/a
try ln /srv/shut/kept /workspace/hard
try mv /srv/shut/kept /workspace/
try rmdir /srv/shut
try mount -o remount,bind,rw /
try unshare -m true
mkdir -p /tmp/m /tmp/low
try unshare -Urm sh -c 'mount -o remount,bind,rw / && touch /srv/shut/a'
try unshare -Urm sh -c 'mount --bind / /tmp/m && touch /tmp/m/srv/shut/a'
try unshare -Urm sh -c 'mount --rbind / /tmp/m; mount -o remount,bind,rw /tmp/m; touch /tmp/m/srv/shut/a'
try unshare -Urm sh -c 'mount --bind /srv/shut /tmp/m; mount -o remount,bind,rw /tmp/m; touch /tmp/m/a'
try unshare -Urm sh -c 'mount -t overlay o -o lowerdir=/tmp/low,upperdir=/srv/shut,workdir=/tmp/low /tmp/m && touch /tmp/m/a'
try unshare -Urpfm --mount-proc sh -c 'touch "$1"/srv/shut/a' sh "$first"
try nsenter -t "$1" -m touch /srv/shut/a
try nsenter -t "$1" -U -m touch /srv/shut/a
try nsenter -t 1 -m touch /srv/shut/a
command -v python3 >/dev/null && python3 - "$1" <<'PY'
import ctypes, sys
libc, pid = ctypes.CDLL(None, use_errno=True), int(sys.argv[1])
fd = libc.syscall(434, pid, 0)  # pidfd_open
for name, got in (("attach", libc.ptrace(16, pid, 0, 0)), ("seize", libc.ptrace(0x4206, pid, 0, 0)),
                  ("pidfd_getfd", libc.syscall(438, fd, 5, 0)), ("setns", libc.setns(fd, 0x20000))):
    if got >= 0:
        print("left:", name)
PY
echo "tried $left"
