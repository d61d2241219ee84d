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
	files   *ruleset // of the thread; nil: no Landlock
	filter  filter   // of the thread; nil: no seccomp
	inner   filter   // for what runs inside of bwrap
	mounts  *mounts  // nil: those of this process
	within  *ruleset // of the command alone, where it has mounts; nil: no Landlock
	sealing filter   // likewise; nil: no seccomp
	limits  Limits
	wrapper []string // arguments of bwrap before the command; nil: none
	scoped  bool     // since apply: the thread is confined with the command
	temp    string
	held    []*placeholder
	outlet  bool
	last    *lastRules
	group   *group // nil: none
}

// plan finds out how to enforce a profile. Landlock alone is the cheapest, and enough
// where everything that is hidden or fixed can be left out of the roots.
func (m Machine) plan(p Profile) (*plan, error) {
	for _, path := range slices.Concat(p.Read, p.writable(), p.Hidden, p.Shown) {
		if !filepath.IsAbs(path) {
			return nil, fmt.Errorf("%q is not an absolute path", path)
		}
	}
	if p.Name == Open && m.Groups != "" {
		p.Fixed = append(slices.Clip(p.Fixed), Fixed{Path: m.Groups, Dir: true}) // or it raises its own limits
	}
	pl := &plan{abi: m.Landlock, temp: p.Temp, outlet: p.Outlet, last: p.last}
	if pl.limits = p.Limits; !m.Launcher {
		if p.Limits != (Limits{}) && p.Name != Open {
			return nil, errors.New("this machine cannot bound commands")
		}
		pl.limits = Limits{}
	}
	var err error
	switch needs := p.Name == Open && len(p.Hidden) > 0 || len(p.Fixed) > 0 || p.Name == Edit; {
	case (needs || p.hidesWithin() || p.Outlet) && (m.Mounts || m.Users):
		err = pl.mount(p, !m.Mounts)
	case p.Outlet:
		err = errors.New("this machine cannot give a command a network of its own")
	case needs && m.Bwrap != "":
		err = pl.wrap(m.Bwrap, p)
	case p.Name == Open:
		pl.files = leaky(p)
	default:
		pl.files = strict(p, p.Hidden)
	}
	if err != nil {
		return nil, errors.Join(err, pl.release())
	}
	pl.confine(m, p)
	if m.Groups != "" && p.Totals != (Totals{}) {
		// Without one the command is measured.
		pl.group, _ = newGroup(m.Groups, p.Totals)
	}
	return pl, nil
}

// confine adds what Landlock and seccomp do besides files. With mounts of our own the
// thread is in the scope of the command and nothing else, and the rest is added behind
// the mounts; it would keep them from being made.
func (pl *plan) confine(m Machine, p Profile) {
	if m.Landlock == 0 {
		pl.files, pl.within = nil, nil
	} else {
		pl.files.scoped = scopes
		if p.Sockets {
			pl.files.scoped = unix.LANDLOCK_SCOPE_SIGNAL
		}
		if !m.Scopes {
			pl.files.scoped = 0
		}
		if !p.Network && !p.Outlet {
			pl.files.net = network
		}
	}
	if !m.Seccomp {
		return
	}
	all := filterOf(p, m.Scopes, pl.wrapper != nil)
	if pl.mounts != nil {
		pl.sealing = all
		return
	}
	if p.Name == Inspect && pl.wrapper == nil {
		all = append(withoutMetadata(), all...)
	}
	if pl.filter = all; pl.wrapper != nil {
		if pl.inner = withoutMounts(); p.Name != Open {
			pl.inner = filterOf(p, m.Scopes, false)
		}
	}
}

func (pl *plan) release() (err error) {
	for _, h := range pl.held {
		err = errors.Join(err, h.release())
	}
	return err
}

// prepared is a command that is ready to be started.
type prepared struct {
	files  []*os.File // to be closed when it has started
	on     *launched  // nil: no launcher
	outlet *outlet    // nil: none
}

// prepare gives the command its temporary directory, its wrapper and its launcher.
func (pl *plan) prepare(cmd *exec.Cmd) (*prepared, error) {
	pl.setVariables(cmd)
	ready := &prepared{}
	if err := pl.wrapCommand(cmd, ready); err != nil {
		return nil, errors.Join(err, closeFiles(ready.files))
	}
	l, err := pl.launcher(cmd, ready)
	if err == nil && l != nil {
		ready.on, err = l.wrap(cmd)
	}
	if err != nil {
		return nil, errors.Join(err, closeFiles(ready.files), ready.closeOutlet())
	}
	return ready, nil
}

// setVariables adds what the profile means for the environment of the command.
func (pl *plan) setVariables(cmd *exec.Cmd) {
	var add []string
	if pl.temp != "" {
		add = append(add, "TMPDIR="+pl.temp, "XDG_CACHE_HOME="+filepath.Join(pl.temp, cacheName))
	}
	if pl.outlet {
		add = append(add, proxyVariables()...)
	}
	if cmd.Env == nil && len(add) > 0 {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(slices.Clip(cmd.Env), add...)
}

func (r *prepared) closeOutlet() error {
	if r.outlet == nil {
		return nil
	}
	return r.outlet.close()
}

// started closes what the command has got, and returns when it runs itself.
func (r *prepared) started(cmd *exec.Cmd, err error) error {
	err = errors.Join(err, closeFiles(r.files))
	if r.on == nil {
		return err
	}
	if err != nil {
		return errors.Join(err, r.on.close(), r.closeOutlet())
	}
	if err := r.on.wait(); err != nil {
		abandon(cmd)
		return errors.Join(err, r.closeOutlet())
	}
	if r.outlet == nil {
		return nil
	}
	if err := r.outlet.receive(); err != nil {
		abandon(cmd)
		return err
	}
	return nil
}

// abandon ends what has started and is not what it should be.
func abandon(cmd *exec.Cmd) {
	_ = cmd.Process.Kill() // it may have ended
	_ = cmd.Wait()         // it was killed
}

func (pl *plan) wrapCommand(cmd *exec.Cmd, ready *prepared) error {
	if pl.wrapper == nil {
		return nil
	}
	args := slices.Clone(pl.wrapper)
	if pl.inner != nil {
		f, err := pl.inner.file()
		if err != nil {
			return err
		}
		ready.files = append(ready.files, f)
		cmd.ExtraFiles = append(slices.Clone(cmd.ExtraFiles), f)
		args = append(args, "--seccomp", strconv.Itoa(2+len(cmd.ExtraFiles)))
	}
	if cmd.Dir != "" {
		args = append(args, "--chdir", cmd.Dir)
	}
	args = append(args, "--", cmd.Path)
	cmd.Args = append(args, cmd.Args[1:]...)
	cmd.Path = pl.wrapper[0]
	return nil
}

// launcher returns what makes the mounts of the command and bounds it, or nil where
// neither is needed.
func (pl *plan) launcher(cmd *exec.Cmd, ready *prepared) (_ *launcher, err error) {
	if pl.mounts == nil && pl.limits == (Limits{}) && pl.group == nil {
		return nil, nil
	}
	l := &launcher{}
	if pl.group != nil {
		if err := pl.group.enter(l); err != nil {
			return nil, err
		}
	}
	if pl.mounts != nil {
		if err := pl.mounts.steps(l); err != nil {
			return nil, err
		}
		if err := l.enter(cmd.Dir); err != nil {
			return nil, err
		}
	}
	if pl.outlet {
		if ready.outlet, err = l.outlet(); err != nil {
			return nil, err
		}
	}
	l.bound(pl.limits)
	if pl.mounts == nil {
		return l, nil
	}
	if err := l.dropCapabilities(pl.mounts.users); err != nil {
		return nil, err
	}
	l.dieWith(cmd)
	if pl.within != nil {
		if err := l.restrict(pl.within, pl.abi, pl.last); err != nil {
			return nil, errors.Join(err, closeFiles(l.files))
		}
	}
	if pl.sealing != nil {
		l.install(pl.sealing)
	}
	return l, nil
}

// apply restricts the calling thread.
func (pl *plan) apply() error {
	if pl.mounts == nil {
		if err := dropCapabilities(); err != nil {
			return err
		}
	}
	if pl.files == nil && pl.filter == nil && pl.mounts == nil {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	if pl.files != nil && !pl.files.empty() {
		if err := pl.files.restrict(pl.abi, pl.last); err != nil {
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
func strict(p Profile, hidden []string) *ruleset {
	r := &ruleset{files: readAll | writeAll, rules: make([]rule, 0, len(p.Read)+len(p.Shown)+len(p.Write)+2)}
	hidden = p.touches(hidden)
	r.reads(p, hidden)
	for _, root := range p.writable() {
		r.read(root, hidden)
		paths, _ := around(root, hidden)
		r.add(readAll|writeAll, paths...)
	}
	r.add(readAll|writeFile, "/dev/null", "/dev/zero", "/dev/full")
	return r
}

// touches returns the hidden names that lie below a root or that a root lies below.
func (p Profile) touches(hidden []string) []string {
	roots := slices.Concat(p.Read, p.Shown, p.writable())
	return slices.DeleteFunc(slices.Clone(hidden), func(h string) bool {
		return !slices.ContainsFunc(roots, func(root string) bool {
			if len(root) < len(h) {
				return below(h, root)
			}
			return below(root, h)
		})
	})
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
func (pl *plan) mount(p Profile, users bool) error {
	pl.mounts = &mounts{users: users, hidden: p.covers(), shown: p.Shown, mask: p.Mask, free: p.Free}
	if p.Name != Inspect {
		pl.mounts.pinned = p.ways()
	}
	pl.files = &ruleset{}
	if p.Name == Open {
		pl.within = guarded()
		pl.mounts.fixed = existing(p.Fixed)
		return nil
	}
	pl.mounts.hidden = slices.DeleteFunc(pl.mounts.hidden, func(h string) bool { return !p.reaches(h) })
	pl.within = strict(p, nil) // the mounts do the rest
	pl.mounts.sealed, pl.mounts.writable = true, p.writable()
	var err error
	pl.mounts.fixed, pl.held, err = hold(p.Fixed)
	return err
}

// ways returns the directories in which denied files lie, with those above them below a
// directory that is shown. If a command could rename one of them, the next command would
// find the file under a name that no rule denies.
func (p Profile) ways() []string {
	var dirs []string
	for _, path := range p.Denied {
		root := nearest(p.Shown, path)
		for dir := filepath.Dir(path); root != "" && dir != root && below(dir, root); dir = filepath.Dir(dir) {
			dirs = append(dirs, dir)
		}
	}
	return union(dirs, nil)
}

// existing returns the paths that are there and no links.
func existing(fixed []Fixed) (paths []string) {
	for _, f := range fixed {
		if info, err := os.Lstat(f.Path); err == nil && info.Mode()&os.ModeSymlink == 0 {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// reaches reports whether a hidden path lies below a root, so that it has to be covered.
func (p Profile) reaches(hidden string) bool {
	under := func(root string) bool { return below(hidden, root) }
	return slices.ContainsFunc(p.Read, under) || slices.ContainsFunc(p.Write, under) || slices.ContainsFunc(p.Shown, under) || p.Temp != "" && under(p.Temp)
}

// hidesWithin reports whether something that is there is hidden below a root. Landlock
// can leave it out, and then also what is made beside it.
func (p Profile) hidesWithin() bool {
	return slices.ContainsFunc(p.covers(), func(h string) bool {
		if !p.reaches(h) {
			return false
		}
		_, err := os.Lstat(h)
		return err == nil
	})
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
