package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxJudged bounds how much of an output Denial reads, from its end.
const maxJudged = 64 << 10

// Denial returns in a sentence what the profile has denied a command that printed output in
// a directory: what, by which profile, and what would allow it. It goes by the messages
// of programs, since the kernel tells nobody else: it knows a path that a message of a
// denied access names, a socket and a signal. "" where the output shows nothing of the
// kind, or nothing that the profile forbids.
func (p Profile) Denial(output, dir string) string {
	output = output[max(0, len(output)-maxJudged):]
	unsure := false
	for line := range strings.Lines(output) {
		kind := kindOf(line)
		if kind == "" {
			continue
		}
		if why := p.explainLine(kind, line, dir); why != "" {
			return why
		}
		unsure = unsure || kind == denied
	}
	if unsure && p.Name != Open {
		return fmt.Sprintf("An access was denied; whether by the profile %s or by the system cannot be said. %s", p.Name, p.Remedy())
	}
	return ""
}

// What a line of output may be about.
const (
	denied  = "denied"
	missing = "missing"
	offline = "offline"
	limited = "limited"
	taken   = "taken" // by something that stands for a fixed name, perhaps
)

func kindOf(line string) string {
	has := func(phrases ...string) bool {
		return slices.ContainsFunc(phrases, func(s string) bool { return strings.Contains(line, s) })
	}
	switch {
	case has("ile size limit exceeded", "ile too large", "CPU time limit exceeded", "annot allocate memory", "oo many open files"):
		return limited
	case has("ermission denied", "peration not permitted", "ead-only file system", "o such device or address", "EACCES", "EPERM", "EROFS", "ENXIO"):
		return denied
	case has("No such file or directory", "ENOENT"):
		return missing
	case has("File exists", "Not a directory", "EEXIST", "ENOTDIR"):
		return taken
	case has("ould not resolve host", "name resolution", "Network is unreachable", "EAI_AGAIN"):
		return offline
	}
	return ""
}

func (p Profile) explainLine(kind, line, dir string) string {
	if kind == offline {
		if p.Network {
			return ""
		}
		if p.Outlet {
			return fmt.Sprintf("The profile %s reaches listed hosts only, through the proxy that HTTPS_PROXY names; this program did not use it. %s", p.Name, p.Remedy())
		}
		return fmt.Sprintf("The profile %s denied the network. %s", p.Name, p.Remedy())
	}
	if kind == limited {
		return p.explainLimit(line)
	}
	for _, path := range pathsIn(line, dir) {
		switch {
		case nearest(p.Denied, path) != "" && kind != missing:
			return fmt.Sprintf("The profile %s denied %s, as a permission rule does; nothing but a change of the rule allows it.", p.Name, path)
		case nearest(p.Hidden, path) != "" && !p.MayRead(path):
			return fmt.Sprintf("The profile %s hides %s: what holds credentials or swarm's own state is hidden from every command, and no rule shows it.", p.Name, path)
		case kind == taken && !p.fixes(path):
		case kind == missing || nearest([]string{"/dev", "/proc"}, path) != "":
		case !p.MayRead(path):
			return fmt.Sprintf("The profile %s denied %s, which is outside of what it reads. %s", p.Name, path, p.Remedy())
		case !p.MayWrite(path):
			return fmt.Sprintf("The profile %s denied a change of %s. %s", p.Name, path, p.Remedy())
		}
	}
	switch {
	case kind == missing || kind == taken:
		return ""
	case strings.Contains(line, "kill") || strings.Contains(line, "ptrace"):
		return fmt.Sprintf("The profile %s denied to signal or trace a process that this command did not start; what runs in the background is ended where it was started.", p.Name)
	case strings.Contains(line, "ocket") && !p.Sockets:
		return fmt.Sprintf("The profile %s denied a socket. %s", p.Name, p.Remedy())
	}
	return ""
}

// explainLimit says which limit a message is about.
func (p Profile) explainLimit(line string) string {
	for _, l := range []struct {
		what  string
		limit uint64
		words []string
	}{
		{"%d MiB for a file", p.Limits.FileSize >> 20, []string{"ile size", "too large"}},
		{"%d seconds of processor time", p.Limits.CPU, []string{"CPU time"}},
		{"%d MiB of memory", p.Limits.Memory >> 20, []string{"memory"}},
		{"%d open files", p.Limits.OpenFiles, []string{"open files"}},
	} {
		if l.limit > 0 && slices.ContainsFunc(l.words, func(w string) bool { return strings.Contains(line, w) }) {
			return fmt.Sprintf("A process reached the limit of "+l.what+"; sandbox.limits in the user's settings changes it.", l.limit)
		}
	}
	return ""
}

// fixes reports whether a path is a fixed name or lies below one, and below nothing free
// that is nearer.
func (p Profile) fixes(path string) bool {
	free := nearest(p.Free, path)
	return slices.ContainsFunc(p.Fixed, func(f Fixed) bool { return below(path, f.Path) && len(f.Path) >= len(free) })
}

// Remedy returns what allows a command more, in a sentence.
func (p Profile) Remedy() string {
	if p.Name == Edit && p.Wider != "" {
		return p.Wider
	}
	switch p.Name {
	case Inspect:
		return "It ran without a question because it only reads; a rule such as Bash(NAME:*) or a person's answer lets it do more."
	case Edit:
		return "An allow rule for the command or a person's answer lets it do more."
	}
	return "Nothing allows it to a command."
}

// pathsIn returns what in a message may be a path.
func pathsIn(line, dir string) (paths []string) {
	for _, word := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\n:'\"`,()[]=<>‘’“”", r) }) {
		path := from(dir, word)
		if !strings.Contains(word, "/") && !strings.HasPrefix(word, ".") {
			if _, err := os.Lstat(path); err != nil {
				continue // a word
			}
		}
		if filepath.IsAbs(path) {
			paths = append(paths, real(path))
		}
	}
	return paths
}
