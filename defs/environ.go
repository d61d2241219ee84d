package defs

import (
	"encoding/json"
	"path/filepath"
	"runtime"
	"strings"
)

// WithEnv adds options from environment variables:
//
//   - SWARM_SIMPLE, CLAUDE_CODE_SIMPLE: built-ins and --agents only;
//   - CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS: no built-ins, unless Interactive;
//   - CLAUDE_CODE_DISABLE_EXPLORE_PLAN_AGENTS: neither Explore nor Plan;
//   - CLAUDE_CODE_ENTRYPOINT sdk-…: no claude-code-guide;
//   - CLAUDE_CONFIG_DIR: the user's directory instead of ~/.claude;
//   - CLAUDE_CODE_PLUGIN_DIRS: further plugins, as a list like PATH;
//   - SWARM_UNTRUSTED: nothing of the project is trusted.
//
// Options that are set already do not change.
func (o Options) WithEnv(getenv func(string) string) Options {
	on := func(name string) bool { return truthy(getenv(name)) }
	o.Simple = o.Simple || on("SWARM_SIMPLE") || on("CLAUDE_CODE_SIMPLE")
	o.NoBuiltins = o.NoBuiltins || !o.Interactive && on("CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS")
	omit := append([]string(nil), o.OmitBuiltins...)
	if on("CLAUDE_CODE_DISABLE_EXPLORE_PLAN_AGENTS") {
		omit = append(omit, "Explore", "Plan")
	}
	if strings.HasPrefix(getenv("CLAUDE_CODE_ENTRYPOINT"), "sdk-") {
		omit = append(omit, "claude-code-guide")
	}
	o.OmitBuiltins = omit
	if o.ConfigDir == "" {
		o.ConfigDir = getenv("CLAUDE_CONFIG_DIR")
	}
	dirs := append([]string(nil), o.PluginDirs...)
	for _, dir := range filepath.SplitList(getenv("CLAUDE_CODE_PLUGIN_DIRS")) {
		if dir != "" {
			dirs = append(dirs, dir)
		}
	}
	o.PluginDirs = dirs
	if on("SWARM_UNTRUSTED") {
		o.Trusted = func(string) bool { return false }
	}
	return o
}

func truthy(s string) bool {
	switch strings.ToLower(s) {
	case "1", "true", "yes", "on":
		return true
	}
	return false
}

// DefaultManagedDir returns where organisations keep their settings on this system.
func DefaultManagedDir() string {
	if runtime.GOOS == "darwin" {
		return "/Library/Application Support/ClaudeCode"
	}
	return "/etc/claude-code"
}

// TrustedUnlessRefused returns a function for Options.Trusted that reads the user's answers
// to questions about trust in .claude.json. A directory is not trusted if the nearest
// answer, about itself or a directory above, is no. Without an answer it is trusted.
func TrustedUnlessRefused(home string) func(dir string) bool {
	return func(dir string) bool {
		src, err := ReadFile(filepath.Join(home, ".claude.json"))
		if err != nil {
			return true
		}
		var state struct {
			Projects map[string]struct {
				Accepted *bool `json:"hasTrustDialogAccepted"`
			} `json:"projects"`
		}
		if json.Unmarshal(src, &state) != nil {
			return false // there is an answer that cannot be read
		}
		abs, err := filepath.Abs(dir)
		if err != nil {
			return false
		}
		for ; ; abs = filepath.Dir(abs) {
			if p, asked := state.Projects[abs]; asked && p.Accepted != nil {
				return *p.Accepted
			}
			if filepath.Dir(abs) == abs {
				return true
			}
		}
	}
}
