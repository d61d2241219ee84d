package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := noMore(args, 0, "swarm version"); err != nil {
				return err
			}
			return fprint(a.out, versionLine()+"\n")
		},
	}
}

func versionLine() string {
	return fmt.Sprintf("swarm %s (%s, %s/%s)", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// version is the module's version, or for a build from a working tree the
// commit, with + when the tree had changes.
func version() string {
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
