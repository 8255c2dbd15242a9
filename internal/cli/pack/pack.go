// Package pack gives an image that lies on this machine as one stream of bytes: a
// file as it is, a folder as a tar.
package pack

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Open gives the image at path: an archive, an OCI layout, or a folder that is a
// root file system. What the latter has beside files, folders and links is skipped
// with a note, as is what is mounted in it.
func Open(path string, note func(text string)) (io.ReadCloser, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return os.Open(path)
	}
	p := packer{root: path, device: deviceOf(info), links: map[inode]string{}, note: note}
	if exists(path, "oci-layout") && exists(path, "index.json") {
		p.only = []string{"oci-layout", "index.json", "blobs"}
	}
	read, write := io.Pipe()
	go func() { // it ends with the stream: at its end, or when the reader is closed
		p.tar = tar.NewWriter(write)
		err := filepath.WalkDir(path, p.add)
		write.CloseWithError(errors.Join(err, p.tar.Close()))
	}()
	return read, nil
}

func exists(folder, name string) bool {
	_, err := os.Stat(filepath.Join(folder, name))
	return err == nil
}

// packer writes a folder as a tar. Names come in their order, and nothing is in it
// that is not part of the files: the same folder gives the same bytes.
type packer struct {
	root   string
	only   []string // names at the top; empty: all
	device uint64
	links  map[inode]string // files with several names, by their first
	note   func(string)
	tar    *tar.Writer
}

type inode struct{ device, number uint64 }

func deviceOf(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Dev)
	}
	return 0
}

func (p *packer) add(path string, entry fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	name := strings.TrimPrefix(strings.TrimPrefix(path, p.root), "/")
	if top, _, _ := strings.Cut(name, "/"); name != "" && len(p.only) > 0 && !slices.Contains(p.only, top) {
		if entry.IsDir() {
			return filepath.SkipDir
		}
		return nil
	}
	info, err := entry.Info()
	if err != nil {
		return err
	}
	if info.Mode()&(fs.ModeSocket|fs.ModeDevice) != 0 {
		p.note(fmt.Sprintf("%s is left out: it is no file", path))
		return nil
	}
	header, err := p.header(path, name, info)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if err := p.tar.WriteHeader(header); err != nil {
		return fmt.Errorf("pack %s: %w", path, err)
	}
	if header.Typeflag == tar.TypeDir && deviceOf(info) != p.device {
		p.note(fmt.Sprintf("what is mounted at %s is left out", path))
		return filepath.SkipDir
	}
	if header.Typeflag != tar.TypeReg {
		return nil
	}
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := io.Copy(p.tar, file); err != nil {
		return fmt.Errorf("pack %s: %w", path, err)
	}
	return nil
}

func (p *packer) header(path, name string, info fs.FileInfo) (*tar.Header, error) {
	target := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		var err error
		if target, err = os.Readlink(path); err != nil {
			return nil, err
		}
	}
	header, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return nil, err
	}
	header.Name = "./" + name
	header.Uname, header.Gname = "", "" // names of this machine
	if info.IsDir() && name != "" {
		header.Name += "/"
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if ok && header.Typeflag == tar.TypeReg && s.Nlink > 1 {
		at := inode{uint64(s.Dev), s.Ino}
		if first := p.links[at]; first != "" {
			header.Typeflag, header.Linkname, header.Size = tar.TypeLink, first, 0
			return header, nil
		}
		p.links[at] = header.Name
	}
	if header.Typeflag == tar.TypeReg {
		header.PAXRecords, err = attributes(path)
	}
	return header, err
}

// attributes are the extended attributes that mean something in a machine, in the
// form that tars have them in.
func attributes(path string) (map[string]string, error) {
	const most = 64 << 10
	buffer := make([]byte, most)
	n, err := unix.Llistxattr(path, buffer)
	if errors.Is(err, unix.ENOTSUP) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var records map[string]string
	for _, name := range strings.Split(string(buffer[:n]), "\x00") {
		if name != "security.capability" && !strings.HasPrefix(name, "user.") {
			continue
		}
		value := make([]byte, most)
		n, err := unix.Lgetxattr(path, name, value)
		if err != nil {
			return nil, err
		}
		if records == nil {
			records = map[string]string{}
		}
		records["SCHILY.xattr."+name] = string(value[:n])
	}
	return records, nil
}
