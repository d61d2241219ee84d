package sandbox

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// seatbelt returns the profile in the language of macOS's sandbox-exec. The last rule
// that matches decides, so what is hidden comes after what is read, and what is shown
// after what is hidden, the shorter paths first.
func seatbelt(p Profile) string {
	var b strings.Builder
	b.WriteString("(version 1)\n(allow default)\n(deny signal (target others))\n(deny process-info* (target others))\n")
	if !p.Network {
		b.WriteString("(deny network*)\n")
	} else if !p.Sockets {
		b.WriteString("(deny network* (remote unix-socket))\n")
	}
	if p.Name != Open {
		b.WriteString("(deny file-read-data file-write*)\n")
	}
	allow(&b, "file-read*", append(slices.Clone(p.Read), "/System", "/Library", "/private/var/db", "/dev"))
	allow(&b, "file-read* file-write*", append(p.writable(), "/dev/null", "/dev/zero"))
	for _, f := range p.Fixed {
		fmt.Fprintf(&b, "(deny file-write* (subpath %s))\n", strconv.Quote(f.Path))
	}
	type layer struct {
		path  string
		shown bool
	}
	var layers []layer
	for _, h := range p.Hidden {
		layers = append(layers, layer{h, false})
	}
	for _, s := range p.Shown {
		layers = append(layers, layer{s, true})
	}
	slices.SortStableFunc(layers, func(x, y layer) int { return len(x.path) - len(y.path) })
	for _, l := range layers {
		if l.shown {
			allow(&b, "file-read*", []string{l.path})
		} else {
			fmt.Fprintf(&b, "(deny file-read* file-write* (subpath %s))\n", strconv.Quote(l.path))
		}
	}
	return b.String()
}

func allow(b *strings.Builder, what string, paths []string) {
	for _, p := range paths {
		fmt.Fprintf(b, "(allow %s (subpath %s))\n", what, strconv.Quote(p))
	}
}
