#!/bin/sh
# Packs a built program: dist.sh PROGRAM VERSION ARCH FOLDER
# makes in FOLDER, from the same input the same bytes:
#   paddock-VERSION-linux-ARCH.tar.gz   for any Linux
#   paddock_DEBVERSION_ARCH.deb         where dpkg-deb is there
#   SHA256SUMS                          of both
# DIST_LEVEL is gzip's level, 1 to 9, 6 when not set.
# PROGRAM has to run here: it writes its own manual pages and completions.
set -eu
[ $# = 4 ] || { echo "usage: scripts/dist.sh PROGRAM VERSION ARCH FOLDER" >&2; exit 2; }
program=$(readlink -f "$1") version=$2 arch=$3 level=${DIST_LEVEL:-6}
mkdir -p "$4"
out=$(readlink -f "$4")
cd "$(dirname "$0")/.."
umask 022
export LC_ALL=C

# All files are as old as the commit; without one, as old as 1980.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 315532800)}
export SOURCE_DATE_EPOCH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A Debian version begins with a digit and has no '-' of its own; a version that
# is only a commit sorts by its time.
case $version in
v[0-9]*) deb_version=$(echo "${version#v}" | tr - +) ;;
[0-9]*.*) deb_version=$(echo "$version" | tr - +) ;;
*) deb_version="0.0.0+$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y%m%d%H%M%S).$(echo "$version" | tr - +)" ;;
esac

made() { # what the program tells of itself, into share/ of a folder
	"$program" man --dir "$1/man" >/dev/null
	mkdir "$1/completions"
	"$program" completion bash >"$1/completions/paddock.bash"
	"$program" completion zsh >"$1/completions/_paddock"
	"$program" completion fish >"$1/completions/paddock.fish"
}

mkdir "$work/made"
made "$work/made"
pages=$(cd "$work/made/man" && ls)

tarball() {
	name=paddock-$version-linux-$arch
	top=$work/$name
	install -D -m 755 "$program" "$top/bin/paddock"
	for page in $pages; do install -D -m 644 "$work/made/man/$page" "$top/share/man/man1/$page"; done
	install -D -m 644 -t "$top/share/completions" "$work"/made/completions/*
	install -D -m 644 -t "$top/systemd" packaging/systemd/*
	install -m 644 README.md LICENSE CHANGELOG.md packaging/INSTALL.md "$top"
	tar --format=gnu --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
		-C "$work" -cf - "$name" | gzip -n "-$level" >"$out/$name.tar.gz"
	echo "$name.tar.gz" >>"$work/names"
}

debian() {
	name=paddock_${deb_version}_$arch.deb
	top=$work/deb
	share=$top/usr/share
	install -D -m 755 "$program" "$top/usr/bin/paddock"
	for page in $pages; do
		mkdir -p "$share/man/man1"
		gzip -n9 <"$work/made/man/$page" >"$share/man/man1/$page.gz"
	done
	install -D -m 644 "$work/made/completions/paddock.bash" "$share/bash-completion/completions/paddock"
	install -D -m 644 "$work/made/completions/_paddock" "$share/zsh/vendor-completions/_paddock"
	install -D -m 644 "$work/made/completions/paddock.fish" "$share/fish/vendor_completions.d/paddock.fish"
	install -D -m 644 -t "$top/usr/lib/systemd/system" packaging/systemd/*
	install -D -m 644 packaging/debian/default "$top/etc/default/paddock"
	install -D -m 644 -t "$share/doc/paddock" README.md CHANGELOG.md
	install -D -m 644 LICENSE "$share/doc/paddock/copyright"
	mkdir "$top/DEBIAN"
	install -m 644 packaging/debian/conffiles "$top/DEBIAN/conffiles"
	install -m 755 packaging/debian/postinst packaging/debian/prerm packaging/debian/postrm "$top/DEBIAN"
	size=$(du -sk --apparent-size --exclude=DEBIAN "$top" | cut -f1)
	sed -e "s/@VERSION@/$deb_version/" -e "s/@ARCH@/$arch/" -e "s/@SIZE@/$size/" packaging/debian/control >"$top/DEBIAN/control"
	(cd "$top" && find . -path ./DEBIAN -prune -o -type f -printf '%P\0' | sort -z | xargs -0 md5sum) >"$work/md5sums"
	install -m 644 "$work/md5sums" "$top/DEBIAN/md5sums"
	dpkg-deb --root-owner-group -Zgzip "-z$level" --build "$top" "$out/$name" >/dev/null
	echo "$name" >>"$work/names"
}

tarball
if command -v dpkg-deb >/dev/null; then
	debian
else
	echo "paddock: no Debian package was made, for there is no dpkg-deb here" >&2
fi
(cd "$out" && xargs sha256sum <"$work/names" >SHA256SUMS)
sed "s|^|$out/|" "$work/names"
echo "$out/SHA256SUMS"
