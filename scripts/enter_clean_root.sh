# Make a new root in this mount namespace, and run a command in it as a user without rights (scripts/clean-root). The root
# has the system, Python, the installed app, /data and /tmp, but neither the checkout nor a network.
root=$1 python=$2 site=$3
new=/run/clean-root
ip link set lo up
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p "$new/data" "$new/tmp"
mount -t tmpfs -o mode=1777 tmpfs "$new/tmp" # before a folder below /tmp is bound
bind() { mkdir -p "$new$1" && mount --rbind "$1" "$new$1" && mount -o remount,bind,ro "$new$1"; }
for folder in /usr /bin /lib /lib64 /etc /dev /proc "$root" "$python" "$site"; do
    if [ -d "$folder" ]; then bind "$folder"; fi
done
mount --bind "$root/data" "$new/data"
mount -o remount,ro /run
exec chroot "$new" setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs "${@:4}"
