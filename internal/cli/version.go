package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// VersionText names the program, its version and what it was built with.
func VersionText() string {
	return fmt.Sprintf("swarm %s (%s, %s/%s)", Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// Version returns the module's version or, for a build from a working tree, the commit,
// with + if the tree had changes.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return versionOf(info)
}

func versionOf(info *debug.BuildInfo) string {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	commit := set["vcs.revision"]
	if commit == "" {
		return "devel"
	}
	if set["vcs.modified"] == "true" {
		return "devel-" + commit[:min(12, len(commit))] + "+"
	}
	return "devel-" + commit[:min(12, len(commit))]
}
