package builtin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/actorswarm/swarm/internal/dirlock"
	"github.com/actorswarm/swarm/internal/nolink"
)

// tempName is the file for new content before it is renamed. One name per directory is
// enough, since writers hold the directory's lock; the next writer removes what a killed
// process left.
const tempName = ".swarm-write.tmp"

// maxSwaps bounds how often an update starts again because a program that
// takes no lock changed the file meanwhile.
const maxSwaps = 20

// update replaces the content of the file at real by what change makes of the
// present one (nil, false if there is none). It holds the lock of the folder
// from reading to renaming and starts again if the file changed nevertheless,
// so change may be called several times. The file's mode, and its owner where
// permitted, are kept; a hard link to it keeps the old content. Concurrent
// use is the purpose.
func update(ctx context.Context, real string, change func(old []byte, exists bool) ([]byte, error)) error {
	root, err := nolink.Root(filepath.Dir(real), false)
	if err != nil {
		return fmt.Errorf("open the folder of %s: %w", real, err)
	}
	folder, err := root.Open(".")
	if err != nil {
		return errors.Join(fmt.Errorf("open the folder of %s: %w", real, err), root.Close())
	}
	s := swap{root: root, folder: folder, real: real, base: filepath.Base(real), change: change}
	return errors.Join(s.run(ctx), folder.Close(), root.Close())
}

// swap is one update in progress.
type swap struct {
	root       *os.Root
	folder     *os.File // for the lock and to make the renaming durable
	real, base string
	change     func(old []byte, exists bool) ([]byte, error)
}

// current is a content with the identity of the file it came from.
type current struct {
	content []byte
	info    fs.FileInfo // nil if there is no file
}

func (s *swap) run(ctx context.Context) error {
	unlock, err := dirlock.Wait(ctx, s.folder)
	if err != nil {
		return fmt.Errorf("write %s: %w", s.real, err)
	}
	for range maxSwaps {
		var done bool
		if done, err = s.try(); done || err != nil {
			return errors.Join(err, unlock())
		}
	}
	return errors.Join(fmt.Errorf("%s is being changed all the time by another program; nothing was written, try again later", s.real), unlock())
}

// try makes one attempt; done is false if the file changed meanwhile.
func (s *swap) try() (done bool, err error) {
	old, err := s.read()
	if err != nil {
		return false, err
	}
	fresh, err := s.change(old.content, old.info != nil)
	if err != nil {
		return false, err
	}
	if err := s.stage(fresh, old.info); err != nil {
		return false, errors.Join(fmt.Errorf("write %s: %w", s.real, err), s.unstage())
	}
	same, err := s.unchanged(old)
	if err != nil || !same {
		return false, errors.Join(err, s.unstage())
	}
	if err := s.root.Rename(tempName, s.base); err != nil {
		return false, errors.Join(fmt.Errorf("put the new content of %s in place: %w", s.real, err), s.unstage())
	}
	if err := s.folder.Sync(); err != nil {
		return false, fmt.Errorf("make the change of %s durable: %w", s.real, err)
	}
	return true, nil
}

func (s *swap) read() (current, error) {
	info, err := s.root.Lstat(s.base)
	if errors.Is(err, fs.ErrNotExist) {
		return current{}, nil
	}
	if err != nil {
		return current{}, err
	}
	if err := regular(s.real, info); err != nil {
		return current{}, err
	}
	if info.Size() > maxText {
		return current{}, fmt.Errorf("%s has %s, more than file tools change (%s); use Bash", s.real, size(info.Size()), size(maxText))
	}
	f, err := s.root.OpenFile(s.base, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return current{}, err
	}
	info, err = checkOpen(f, s.real)
	if err != nil {
		return current{}, errors.Join(err, f.Close())
	}
	content, err := io.ReadAll(io.LimitReader(f, maxText+1))
	return current{content: content, info: info}, errors.Join(err, f.Close())
}

// unchanged checks once more, just before the renaming, for a change by a program that does
// not lock.
func (s *swap) unchanged(old current) (bool, error) {
	now, err := s.read()
	if err != nil {
		return false, err
	}
	if old.info == nil || now.info == nil {
		return old.info == nil && now.info == nil, nil
	}
	return bytes.Equal(old.content, now.content), nil
}

// stage writes the new content durably beside the file.
func (s *swap) stage(content []byte, old fs.FileInfo) error {
	f, err := s.openTemp(old)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil && old != nil {
		err = errors.Join(keepOwner(f, old), f.Chmod(old.Mode().Perm()))
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func (s *swap) openTemp(old fs.FileInfo) (*os.File, error) {
	mode := fs.FileMode(0o666) // less the umask, as for any new file
	if old != nil {
		mode = 0o600 // until it gets the mode of the file it replaces
	}
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	f, err := s.root.OpenFile(tempName, flags, mode)
	if !errors.Is(err, fs.ErrExist) {
		return f, err
	}
	if err := s.root.Remove(tempName); err != nil {
		return nil, err
	}
	return s.root.OpenFile(tempName, flags, mode)
}

func (s *swap) unstage() error {
	err := s.root.Remove(tempName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// keepOwner gives the file the owner and group of the one it replaces. Only a
// privileged process can, so not being allowed to is no failure.
func keepOwner(f *os.File, old fs.FileInfo) error {
	was, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	is, ok := info.Sys().(*syscall.Stat_t)
	if !ok || is.Uid == was.Uid && is.Gid == was.Gid {
		return nil
	}
	if err := f.Chown(int(was.Uid), int(was.Gid)); err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}
