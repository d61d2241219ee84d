package hook

import (
	"slices"
	"strings"
)

// WatchedNames returns the names of files at whose changes hooks of FileChanged run.
func (s *Set) WatchedNames() (names []string) {
	if s == nil {
		return nil
	}
	for _, h := range s.handlers["FileChanged"] {
		for name := range strings.SplitSeq(h.matcher, "|") {
			if name != "" && name != "*" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
