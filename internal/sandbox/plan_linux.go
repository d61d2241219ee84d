package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// plan is how a machine enforces a profile for one command.
type plan struct {
	abi     int
	files   *ruleset // nil: no Landlock
	filter  filter   // nil: no seccomp
	inner   filter   // for what runs inside of bwrap
	mounts  *mounts  // nil: those of this process
	wrapper []string // arguments of bwrap before the command; nil: none
	scoped  bool     // since apply: the thread is confined with the command
	temp    string
	held    []*placeholder
}

// plan finds out how to enforce a profile. Landlock alone is the cheapest, and enough
// where everything that is hidden or fixed can be left out of the roots.
func (m Machine) plan(p Profile) (*plan, error) {
	for _, path := range slices.Concat(p.Read, p.writable(), p.Hidden, p.Shown) {
		if !filepath.IsAbs(path) {
			return nil, fmt.Errorf("%q is not an absolute path", path)
		}
	}
	pl := &plan{abi: m.Landlock, temp: p.Temp}
	var err error
	switch needs := p.Name == Open && len(p.Hidden) > 0 || len(p.Fixed) > 0; {
	case needs && m.Mounts:
		err = pl.mount(p)
	case needs && m.Bwrap != "":
		err = pl.wrap(m.Bwrap, p)
	case p.Name == Open:
		pl.files = leaky(p)
	default:
		pl.files = strict(p, p.Hidden, p.Fixed)
	}
	if err != nil {
		return nil, errors.Join(err, pl.release())
	}
	if m.Landlock == 0 {
		pl.files = nil
	} else {
		pl.files.scoped = scopes
		if p.Sockets {
			pl.files.scoped = unix.LANDLOCK_SCOPE_SIGNAL
		}
		if !m.Scopes {
			pl.files.scoped = 0
		}
		if !p.Network {
			pl.files.net = network
		}
	}
	if m.Seccomp {
		pl.filter = filterOf(p, m.Scopes, pl.wrapper != nil)
	}
	if m.Seccomp && pl.wrapper != nil {
		if pl.inner = withoutMounts(); p.Name != Open {
			pl.inner = filterOf(p, m.Scopes, false)
		}
	}
	return pl, nil
}

func (pl *plan) release() (err error) {
	for _, h := range pl.held {
		err = errors.Join(err, h.release())
	}
	return err
}

// prepare gives the command its temporary directory and its wrapper. The files are to be
// closed when it has started.
func (pl *plan) prepare(cmd *exec.Cmd) (files []*os.File, err error) {
	if pl.temp != "" {
		if cmd.Env == nil {
			cmd.Env = os.Environ()
		}
		cmd.Env = append(slices.Clone(cmd.Env), "TMPDIR="+pl.temp)
	}
	if pl.wrapper == nil {
		return nil, nil
	}
	args := slices.Clone(pl.wrapper)
	if pl.inner != nil {
		f, err := pl.inner.file()
		if err != nil {
			return nil, err
		}
		files = append(files, f)
		cmd.ExtraFiles = append(slices.Clone(cmd.ExtraFiles), f)
		args = append(args, "--seccomp", strconv.Itoa(2+len(cmd.ExtraFiles)))
	}
	if cmd.Dir != "" {
		args = append(args, "--chdir", cmd.Dir)
	}
	args = append(args, "--", cmd.Path)
	cmd.Args = append(args, cmd.Args[1:]...)
	cmd.Path = pl.wrapper[0]
	return files, nil
}

// apply restricts the calling thread.
func (pl *plan) apply() error {
	if pl.mounts != nil {
		if err := pl.mounts.make(); err != nil {
			return err
		}
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	if pl.files == nil && pl.filter == nil {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	if pl.files != nil {
		if err := pl.files.restrict(pl.abi); err != nil {
			return err
		}
		pl.scoped = pl.files.scoped&unix.LANDLOCK_SCOPE_SIGNAL != 0
	}
	if pl.filter != nil {
		return pl.filter.install()
	}
	return nil
}

// strict allows what the profile's roots hold, but for some names below them. A root
// that holds such names is open where they are not: what is made beside them is not.
func strict(p Profile, hidden []string, fixed []Fixed) *ruleset {
	r := &ruleset{files: readAll | writeAll}
	r.reads(p, hidden)
	without := slices.Clone(hidden)
	for _, f := range fixed {
		without = append(without, f.Path)
	}
	for _, root := range p.writable() {
		r.read(root, hidden)
		paths, _ := around(root, without)
		r.add(readAll|writeAll, paths...)
	}
	r.add(readAll|writeFile, "/dev/null", "/dev/zero", "/dev/full")
	return r
}

// reads lets the roots of a profile be read, and what it shows.
func (r *ruleset) reads(p Profile, hidden []string) {
	for _, root := range p.Read {
		r.read(root, hidden)
	}
	for _, shown := range p.Shown {
		r.read(shown, slices.DeleteFunc(slices.Clone(hidden), func(h string) bool { return below(shown, h) }))
	}
}

// read lets a root be read but for what is hidden. The names of the root itself can be
// listed, and so can those of the hidden directories below it.
func (r *ruleset) read(root string, hidden []string) {
	paths, whole := around(root, hidden)
	r.add(readAll, paths...)
	if !whole && nearest(hidden, root) == "" {
		r.add(unix.LANDLOCK_ACCESS_FS_READ_DIR, root)
	}
}

// leaky hides names from reading only. It is for a machine that can give a command no
// mounts of its own: whoever has to create files beside a hidden name can be kept from
// writing neither it nor them.
func leaky(p Profile) *ruleset {
	r := &ruleset{files: unix.LANDLOCK_ACCESS_FS_READ_FILE}
	r.reads(p, p.Hidden)
	return r
}

// mount plans mounts of our own, and what Landlock adds to them.
func (pl *plan) mount(p Profile) error {
	pl.mounts = &mounts{hidden: p.covers(), shown: p.Shown}
	if p.Name == Open {
		pl.files = guarded()
		return nil
	}
	pl.files = strict(p, nil, nil) // the mounts do the rest
	var err error
	pl.mounts.fixed, pl.held, err = hold(p.Fixed)
	return err
}

// guarded allows everything but what would undo mounts.
func guarded() *ruleset {
	r := &ruleset{files: unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_REFER}
	r.add(unix.LANDLOCK_ACCESS_FS_REFER, "/")
	return r
}

// wrap plans the mounts that bwrap makes.
func (pl *plan) wrap(bwrap string, p Profile) error {
	pl.files = &ruleset{}
	var fixed []string
	var err error
	if fixed, pl.held, err = hold(p.Fixed); err != nil {
		return err
	}
	pl.wrapper = bwrapArgs(bwrap, p, fixed)
	return nil
}
