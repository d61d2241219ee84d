package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Place is where commands run. Its zero value has no working directory.
type Place struct {
	Dirs   []string            // the working directories
	Home   string              // of the user; "" is none
	Hidden []string            // besides the credentials: what swarm keeps, of all sessions
	Shown  []string            // what commands may see of it
	Reads  []string            // what they may read besides; a credential that it names is not hidden
	Writes []string            // what they may change besides, under edit
	Fixed  []string            // what they may not change
	Limits Limits              // of each process
	Totals Totals              // of all processes of a command
	Getenv func(string) string // finds the toolchains; may be nil
}

// Profile returns a profile for the place, as the file system is now.
func (pl Place) Profile(n Name) Profile {
	dirs := each(pl.Dirs, real)
	hidden, shown := pl.hidden()
	p := Profile{Name: n, Hidden: hidden, Shown: union(union(dirs, shown), each(pl.Shown, real)), Limits: pl.Limits, Totals: pl.Totals, last: &lastRules{}}
	for _, path := range each(pl.Fixed, real) {
		p.Fixed = append(p.Fixed, Fixed{Path: path})
	}
	switch n {
	case Open:
		p.Read, p.Write = []string{"/"}, []string{"/"}
		p.Network, p.Sockets = true, true
	case Edit:
		p.Hidden = union(p.Hidden, each(systemSecrets(), real)) // mounts cover them
		p.Read, p.Write, p.Fixed = pl.readable(dirs, nil), union(dirs, each(pl.Writes, real)), append(p.Fixed, pl.fixedIn(dirs)...)
	default:
		p.Fixed = nil // it changes nothing
		p.Read = outermost(append(pl.readable(dirs, systemSecrets()), dirs...))
	}
	return p
}

// fixedNames are obeyed by other programs when they stand at the top of a directory.
// Those that end in a slash have to be directories also where they are placeholders, as
// those who read them are confused by a file; a file costs a file system less.
func fixedNames() []string {
	return []string{
		".git/", ".claude/", ".swarm/", ".vscode", ".idea", ".husky", ".devcontainer", ".cargo", ".mcp.json",
		".gitmodules", ".gitattributes", ".envrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".ripgreprc",
	}
}

// fixedAtHome are obeyed when they stand in the home.
func fixedAtHome() []string {
	return []string{
		".gitconfig", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin",
		".inputrc", ".config/", ".local/",
	}
}

func (pl Place) fixedIn(dirs []string) []Fixed {
	var all []Fixed
	for _, dir := range dirs {
		names := fixedNames()
		if pl.Home != "" && real(pl.Home) == dir {
			names = append(names, fixedAtHome()...)
		}
		for _, name := range names {
			bare, isDir := strings.CutSuffix(name, "/")
			all = append(all, Fixed{filepath.Join(dir, bare), isDir})
		}
	}
	return all
}

// readable returns what a command needs to read besides the working directories, without
// what is secret.
func (pl Place) readable(dirs, secret []string) []string {
	var own []string
	for _, dir := range dirs {
		own = append(own, pl.repository(dir)...)
	}
	all := each(slices.Concat(own, pl.toolchains(), pl.Reads), real)
	for _, root := range systemRoots() {
		all = append(all, besides(root, secret)...)
	}
	for _, root := range systemRoots() {
		if info, err := os.Lstat(root); err == nil && info.Mode()&os.ModeSymlink != 0 {
			all = append(all, real(root))
		}
	}
	return outermost(all)
}

// systemSecrets returns what holds credentials of the machine and can be read by this user,
// who is root then.
func systemSecrets() []string {
	all := []string{"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/ssl/private", "/etc/sudoers"}
	keys, _ := filepath.Glob("/etc/ssh/ssh_host_*_key") // the pattern is well formed
	return slices.DeleteFunc(append(all, keys...), func(path string) bool {
		f, err := os.Open(path)
		return err != nil || f.Close() != nil
	})
}

// besides returns a path, or where something secret lies below it what lies beside that.
func besides(path string, secret []string) []string {
	if slices.Contains(secret, path) {
		return nil
	}
	if !slices.ContainsFunc(secret, func(s string) bool { return below(s, path) }) {
		return []string{path}
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil
	}
	var all []string
	for _, e := range entries {
		all = append(all, besides(filepath.Join(path, e.Name()), secret)...)
	}
	return all
}

// outermost leaves out what lies below another.
func outermost(paths []string) []string {
	paths = union(paths, nil)
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return nearest(paths, filepath.Dir(p)) != "" && p != "/" })
}

// toolchains returns the directories of the programs on PATH that lie elsewhere, with
// what belongs to them: ~/.cargo for ~/.cargo/bin.
func (pl Place) toolchains() []string {
	var all []string
	system := systemRoots()
	for _, dir := range filepath.SplitList(pl.getenv("PATH")) {
		if !filepath.IsAbs(dir) || nearest(system, dir) != "" {
			continue
		}
		all = append(all, pl.owner(filepath.Clean(dir)))
	}
	for _, name := range []string{"GOROOT", "GOPATH", "RUSTUP_HOME", "CARGO_HOME", "PYENV_ROOT", "NVM_DIR", "JAVA_HOME"} {
		if dir := pl.getenv(name); filepath.IsAbs(dir) {
			all = append(all, filepath.Clean(dir))
		}
	}
	if pl.Home == "" {
		return all
	}
	for _, name := range []string{".rustup", ".nvm", ".asdf", ".local/share/mise", "go/pkg/mod", ".gitconfig", ".config/git"} {
		all = append(all, filepath.Join(pl.Home, name))
	}
	return all
}

// owner returns the directory that a directory of programs belongs to: below the home
// its first part, elsewhere the directory around it.
func (pl Place) owner(bin string) string {
	if pl.Home != "" && bin != pl.Home && below(bin, pl.Home) {
		first, _, _ := strings.Cut(strings.TrimPrefix(bin, pl.Home+"/"), "/")
		return filepath.Join(pl.Home, first)
	}
	if up := filepath.Dir(bin); up != "/" && (pl.Home == "" || !below(pl.Home, up)) {
		return up
	}
	return bin
}

func (pl Place) getenv(name string) string {
	if pl.Getenv == nil {
		return ""
	}
	return pl.Getenv(name)
}

// repository returns what git reads of the checkout around a directory. A checkout that
// is the whole home is not opened for the sake of it.
func (pl Place) repository(dir string) []string {
	for top := dir; top != "/" && top != "."; top = filepath.Dir(top) {
		git := filepath.Join(top, ".git")
		info, err := os.Lstat(git)
		switch {
		case err != nil:
			continue
		case !info.IsDir():
			return append(linkedGit(git), top)
		case pl.Home != "" && below(real(pl.Home), top):
			return []string{git}
		}
		return []string{top}
	}
	return nil
}

// linkedGit returns the directories that a .git file leads to. The file may have come
// with the checkout and name anything: a worktree's directory has to name the file in
// return, and that of a submodule has to lie in a repository around the file.
func linkedGit(file string) []string {
	text, err := os.ReadFile(file)
	to, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if err != nil || !ok {
		return nil
	}
	to = real(from(filepath.Dir(file), to))
	if super, _, ok := strings.Cut(to, "/.git/modules/"); ok && below(file, super) {
		return []string{to}
	}
	back, err := os.ReadFile(filepath.Join(to, "gitdir"))
	shared := filepath.Dir(filepath.Dir(to))
	if err != nil || filepath.Base(filepath.Dir(to)) != "worktrees" || real(from(to, strings.TrimSpace(string(back)))) != real(file) {
		return nil
	}
	return []string{shared}
}

// from returns a path that may be relative to a directory.
func from(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

func each(paths []string, f func(string) string) []string {
	out := make([]string, 0, len(paths))
	for _, p := range paths {
		if filepath.IsAbs(p) {
			out = append(out, f(filepath.Clean(p)))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
