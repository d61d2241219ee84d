package sandbox

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// Explain writes what the profile lets a command do, and how this machine holds it to that.
func (p Profile) Explain(w io.Writer, m Machine) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s\n", p.Name, purpose(p.Name))
	list(&b, "reads", p.Read)
	if p.Temp == "" && len(p.Write) == 0 {
		list(&b, "changes", []string{"a private temporary directory"})
	} else {
		list(&b, "changes", p.writable())
	}
	list(&b, "hidden", p.Hidden)
	list(&b, "shown", p.Shown)
	list(&b, "denied", []string{"besides, the files that rules deny to Read are hidden, and those that they deny to Edit are read only"})
	var fixed []string
	for _, f := range p.Fixed {
		fixed = append(fixed, f.Path)
	}
	list(&b, "read only", fixed)
	list(&b, "limits", append(p.Limits.list(), p.Totals.list()...))
	list(&b, "network", []string{p.network()})
	list(&b, "sockets", []string{yes(p.Sockets)})
	list(&b, "outside", []string{"no process that it did not start is signalled, traced or read"})
	if p.Name == Open {
		list(&b, "reaches", []string{
			"services of the user that run commands for whoever connects: docker, systemd, a tmux server, an editor's socket, ssh-agent",
			"files that later programs run: shell start-up files, crontabs, hooks of repositories",
		})
	}
	list(&b, "by", []string{m.means(p)})
	_, err := w.Write(b.Bytes())
	return err
}

func purpose(n Name) string {
	switch n {
	case Inspect:
		return "commands that run without a question because they only read"
	case Edit:
		return "commands that run without a question because they change files of the working directories"
	}
	return "commands that a rule or a person has allowed"
}

// list says what the limits are.
func (l Limits) list() (all []string) {
	for _, one := range []struct {
		format string
		n      uint64
	}{{"%d MiB for each file", l.FileSize >> 20}, {"%d s of processor time", l.CPU}, {"%d MiB of memory", l.Memory >> 20}, {"%d open files", l.OpenFiles}} {
		if one.n > 0 {
			all = append(all, fmt.Sprintf(one.format, one.n)+", for each process")
		}
	}
	return all
}

func (p Profile) network() string {
	if p.Outlet {
		return "one of its own, with a proxy that reaches listed hosts"
	}
	return yes(p.Network)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "none"
}

func list(w io.Writer, what string, items []string) {
	for _, item := range items {
		fmt.Fprintf(w, "  %-10s%s\n", what, item)
		what = ""
	}
}

// Totalled says what holds all processes of a command to their limits together.
func (m Machine) Totalled() string {
	switch {
	case m.Groups != "":
		return "held by the kernel, in a control group for each command below " + m.Groups
	case m.Ungrouped != "":
		return "measured four times a second, without a control group: " + m.Ungrouped
	}
	return "measured four times a second, where processes can be inspected"
}

// means describes how the machine enforces the profile.
func (m Machine) means(p Profile) string {
	if err := m.Enforces(p.Name); err != nil {
		return "nothing: " + err.Error()
	}
	by := m.String()
	if p.Name != Inspect && m.Seatbelt == "" && !m.mounts() {
		by += "; without mounts, " + strings.Join(m.Missing, "; ")
	}
	if p.Totals != (Totals{}) {
		by += "; the totals are " + m.Totalled()
	}
	return by
}
