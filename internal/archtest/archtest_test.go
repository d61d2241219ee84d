// Package archtest holds the code to ARCHITECTURE.md: levels of imports, limits of size, laws with their tests.
package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/actorswarm/swarm"

// level gives each package its height. A package imports packages below its own
// level only, so that it can be read and tested without those above. A new
// package fails the test until somebody decides where it lives.
var level = map[string]int{
	// -1: what the vocabulary uses
	"internal/syntaxerr": -1,

	// 0: the vocabulary, and mechanisms that know nothing of agents
	"actors/kernel":              0,
	"budget":                     0,
	"defs":                       0,
	"internal/lifecycle":         0,
	"internal/childenv":          0,
	"internal/dirlock":           0,
	"internal/executor":          0,
	"internal/filewatch":         0,
	"internal/gitignore":         0,
	"internal/journal":           0,
	"internal/natsd":             0,
	"internal/shell":             0,
	"internal/retry":             0,
	"internal/proxy":             0,
	"internal/rpc":               0,
	"internal/sandbox":           0,
	"internal/nolink":            0,
	"internal/redact":            1,
	"internal/spelling":          0,
	"internal/statefile":         0,
	"internal/term":              0,
	"internal/worktree/filelock": 0,
	"internal/worktree/process":  0,
	"mailbox":                    0,
	"model":                      0,
	"model/internal/sse":         0,
	"model/internal/transport":   0,
	"tool":                       0,

	// 1: one step up
	"event":               1,
	"internal/defedit":    1,
	"internal/hook":       1,
	"internal/hookenv":    1,
	"internal/confine":    1,
	"internal/mcpclient":  1,
	"internal/object":     1,
	"internal/permission": 1,
	"internal/price":      1,
	"internal/prompt":     1,
	"internal/trust":      1,
	"internal/worktree":   1,
	"mailbox/message":     1,
	"mailbox/natsbox":     1,
	"mailbox/schema":      1,
	"model/anthropic":     1,
	"model/openai":        1,
	"model/script":        1,
	"team/board":          1,
	"team/protocol":       1,

	// 2: what an agent is, and what is built of the values below
	"agent":                      2,
	"internal/ask":               2,
	"internal/audit":             2,
	"internal/account":           2,
	"internal/object/bucket":     2,
	"internal/mcpconfig":         2,
	"internal/provider":          2,
	"internal/settings":          2,
	"internal/settings/rulefile": 1,
	"internal/tui":               2,
	"internal/worktree/hookdir":  2,
	"tool/builtin":               2,
	"team/board/kvboard":         2,

	// 3: one agent's life
	"team/teamfile":       3,
	"internal/agenthook":  3,
	"internal/defcheck":   3,
	"internal/hookjudge":  3,
	"internal/transcript": 3,
	"session":             3,

	// 4: what an agent does
	"internal/bus":  4,
	"internal/turn": 4,

	"internal/autojudge": 5,

	// 5 to 7: where agents live
	"actors/spawn":                  4,
	"internal/turnhook":             5,
	"actors/state":                  5,
	"actors":                        6,
	"internal/coordinator/slot":     0,
	"internal/coordinator/stall":    1,
	"internal/coordinator/accounts": 5,
	"internal/coordinator/ids":      5,
	"internal/coordinator/registry": 5,
	"internal/coordinator/report":   5,
	"internal/coordinator/watchdog": 5,
	"internal/coordinator/tools":    7,
	"internal/status":               7,
	"internal/coordinator":          8,

	// 7 and 9: how they work together
	"team":            7,
	"internal/roster": 9,

	// 10: services of a session
	"internal/archive":   10,
	"internal/workerapi": 11,
	"internal/api":       12,
	"internal/isolation": 10,
	"internal/member":    10,
	"internal/peer":      10,

	// 11 and 12: the kinds of process
	"internal/node":   11,
	"internal/fleet":  12,
	"internal/worker": 12,

	// 13: what the user does with the agents
	"internal/control": 13,

	// 14: the public API
	"": 14,

	// 15 and up: programs
	"examples/bus":             15,
	"examples/buspeer":         15,
	"examples/debate":          15,
	"examples/embed":           15,
	"examples/embed-team":      15,
	"examples/review":          15,
	"internal/mcpserve":        15,
	"internal/cli":             15,
	"internal/cli/view":        16,
	"internal/cli/stream":      17,
	"internal/cli/definitions": 17,
	"internal/attach":          16,
	"internal/cli/doctor":      17,
	"internal/cli/hooks":       17,
	"internal/cli/permissions": 17,
	"internal/cli/servers":     17,
	"cmd/swarm":                18,

	// test kits, above what they test; product code never imports them
	"internal/coordinator/coordinatortest": kits,
	"internal/archtest":                    kits,
	"internal/cli/clitest":                 kits,
	"internal/gittest":                     kits,
	"internal/chaos":                       kits,
	"internal/advisories":                  kits,
	"internal/mutate":                      kits,
	"internal/journal/journaltest":         kits,
	"internal/natsd/natsdtest":             kits,
	"internal/shellfuzz":                   kits,
	"internal/sizes":                       kits,
	"internal/typecheck":                   kits,
	"mailbox/mailboxtest":                  kits,
	"model/modeltest":                      kits,
	"team/board/boardtest":                 kits,
	"tool/tooltest":                        kits,
}

// kits is the level of the packages that only tests import. One may use another.
const kits = 100

// owner names the one package that may import a heavy module, so that it can be
// replaced in one place.
var owner = map[string][]string{
	"github.com/asynkron/protoactor-go":      {"actors/kernel"},
	"github.com/nats-io/nats-server":         {"internal/natsd"},
	"github.com/nats-io/nkeys":               {"internal/natsd"},
	"github.com/nats-io/nats.go":             {"", "internal/api", "internal/bus", "internal/fleet", "internal/member", "internal/node", "internal/worker", "internal/peer", "internal/natsd", "internal/natsd/natsdtest", "internal/object/bucket", "internal/retry", "internal/rpc", "mailbox/natsbox", "team/board/kvboard"},
	"github.com/anthropics/anthropic-sdk-go": {"model/anthropic"},
	"github.com/spf13/cobra":                 {"cmd/swarm", "internal/cli", "internal/cli/definitions", "internal/cli/doctor", "internal/cli/hooks", "internal/cli/permissions", "internal/cli/servers"},
	"github.com/modelcontextprotocol/go-sdk": {"internal/mcpclient", "internal/mcpserve"},
	"github.com/muesli/cancelreader":         {"internal/tui"},
	"go.yaml.in/yaml":                        {"defs", "internal/price", "team/teamfile", "model/script"},
	"charm.land":                             {"internal/cli/definitions", "internal/tui"},
	"github.com/charmbracelet/x/ansi":        {"internal/term", "internal/tui"},
	"mvdan.cc/sh":                            {"internal/cli/definitions", "internal/shell"},
	"golang.org/x/net":                       {"internal/proxy"},
	"github.com/gofrs/flock":                 {"internal/journal", "internal/natsd"},
	"github.com/bmatcuk/doublestar":          {"tool/builtin"},
}

// runners names the packages that may import os/exec, with the reason. Whoever runs what a
// person or a model has written runs it by sandbox.Start or sandbox.Run. The list only
// gets shorter.
var runners = map[string]string{
	"internal/sandbox":         "is where commands are started",
	"tool/builtin":             "builds the shell, git and rg, and starts them by internal/sandbox",
	"internal/hook":            "builds hooks, and starts them by internal/sandbox",
	"internal/mcpclient":       "builds MCP servers, and starts them by internal/sandbox",
	"internal/prompt":          "builds git, and starts it by internal/sandbox",
	"internal/worktree":        "builds git, which has to write repositories and hold locks, and starts it by internal/sandbox",
	"internal/executor":        "runs this program for teammates, and tmux",
	"internal/attach":          "runs this program to take a session over",
	"internal/cli/definitions": "runs the editor of the person at the terminal",
	"internal/cli/doctor":      "asks bash, git and rg for their versions",
	"internal/gittest":         "a test kit",
	"internal/mutate":          "a test kit",
	"internal/sizes":           "a test kit",
	"internal/natsd/natsdtest": "a test kit",
}

// TestProgramsAreStartedInFewPlaces: a package that starts programs by itself starts them
// without a profile.
func TestProgramsAreStartedInFewPlaces(t *testing.T) {
	found := map[string]bool{}
	for _, p := range packages(t) {
		name := local(p.ImportPath)
		if !slices.Contains(p.Imports, "os/exec") {
			continue
		}
		if found[name] = true; runners[name] == "" {
			t.Errorf("%q imports os/exec: start the program by internal/sandbox", name)
		}
	}
	for name := range runners {
		if !found[name] {
			t.Errorf("%q does not import os/exec: take it out of the list", name)
		}
	}
}

type listed struct {
	ImportPath string
	Imports    []string
}

func TestImportsPointDownwards(t *testing.T) {
	for _, p := range packages(t) {
		name := local(p.ImportPath)
		height, known := level[name]
		if !known {
			t.Errorf("package %q has no level: decide what it may import and add it", name)
			continue
		}
		for _, imp := range p.Imports {
			if !strings.HasPrefix(imp, module) {
				continue
			}
			dep := local(imp)
			if l, known := level[dep]; known && l >= height && height != kits {
				t.Errorf("%q (level %d) imports %q (level %d): an import goes down, so that each package can be read and tested without those above", name, height, dep, l)
			}
		}
	}
}

// TestNoLevelIsLeftOver keeps the table true: it names no package that is gone.
func TestNoLevelIsLeftOver(t *testing.T) {
	there := map[string]bool{}
	for _, p := range packages(t) {
		there[local(p.ImportPath)] = true
	}
	for name := range level {
		if !there[name] {
			t.Errorf("the table of levels names %q, which is no package: take it out", name)
		}
	}
}

func TestHeavyModulesHaveOneOwner(t *testing.T) {
	for _, p := range packages(t) {
		for _, imp := range p.Imports {
			for mod, owners := range owner {
				if strings.HasPrefix(imp, mod) && !slices.Contains(owners, local(p.ImportPath)) {
					t.Errorf("%q imports %s, which belongs to %q: use what its owner offers", local(p.ImportPath), imp, owners)
				}
			}
		}
	}
}

func local(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
}

// packages lists every package with the imports of its product code.
func packages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", module+"/...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		switch err := dec.Decode(&p); {
		case errors.Is(err, io.EOF):
			if len(all) < 10 {
				t.Fatalf("go list found %d packages only", len(all))
			}
			return all
		case err != nil:
			t.Fatal(err)
		}
		all = append(all, p)
	}
}
