// Package archtest keeps the import graph what ARCHITECTURE.md says it is.
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

// may lists, for each package, the packages of ours that it may import, level
// by level. A new package fails the test until somebody decides where it lives.
var may = map[string][]string{
	// 0: the vocabulary and the parts that know nothing of agents
	"mailbox":             {},
	"model":               {},
	"defs":                {},
	"tool":                {},
	"internal/permission": {},
	"internal/journal":    {},
	"internal/natsd":      {},
	"internal/worktree":   {},
	"internal/childenv":   {},
	"internal/executor":   {},
	"internal/patient":    {},
	"internal/hook":       {},
	"actors/kernel":       {},
	"internal/term":       {},

	// 1: one step up
	"event":                    {"mailbox", "model"},
	"internal/budget":          {"internal/price"},
	"internal/defedit":         {"defs"},
	"internal/price":           {"model"},
	"internal/transcript":      {"internal/budget", "internal/journal", "internal/object", "internal/price", "mailbox", "model", "team/protocol"},
	"internal/object":          {"mailbox"},
	"internal/object/bucket":   {"internal/patient", "mailbox"},
	"team/protocol":            {"mailbox"},
	"mailbox/message":          {"mailbox"},
	"mailbox/schema":           {"mailbox"},
	"mailbox/natsbox":          {"internal/journal", "internal/natsd", "internal/patient", "mailbox"},
	"model/anthropic":          {"model", "model/internal/sse", "model/internal/transport"},
	"model/openai":             {"model", "model/internal/sse", "model/internal/transport"},
	"model/script":             {"model"},
	"model/internal/sse":       {},
	"model/internal/transport": {},

	"internal/prompt": {"defs"},

	"internal/teamfile": {"internal/budget", "internal/price", "mailbox"},

	// 2: what an agent does
	"internal/turn": {"event", "internal/permission", "internal/transcript", "mailbox", "mailbox/message", "model", "tool"},
	"internal/ask":  {"event"},
	"tool/builtin":  {"internal/childenv", "tool"},
	"internal/tui":  {"event", "internal/term", "mailbox", "model"},

	// 3: where agents live
	"actors/actorstest": {
		"actors", "actors/kernel", "defs", "event", "internal/budget", "internal/journal", "internal/permission", "internal/price",
		"internal/transcript", "mailbox", "model", "model/modeltest", "tool",
	},
	"actors": {
		"actors/kernel", "defs", "event", "internal/turn", "internal/ask", "internal/budget", "internal/permission", "internal/price",
		"internal/transcript",
		"mailbox", "mailbox/message", "model", "team/protocol", "tool",
	},

	// 4: how they work together
	"team": {"actors", "internal/transcript", "mailbox", "mailbox/message", "team/board", "team/protocol", "tool"},

	"team/board":         {"mailbox"},
	"team/board/kvboard": {"internal/patient", "team/board"},

	// 5: composition
	"": {
		"actors", "defs", "event", "internal/turn", "internal/ask", "internal/budget", "internal/childenv", "internal/executor", "internal/hook", "internal/journal", "internal/natsd", "internal/object", "internal/object/bucket", "internal/permission",
		"internal/price", "internal/prompt", "internal/teamfile", "internal/transcript", "internal/worktree", "mailbox", "mailbox/message", "mailbox/natsbox", "model", "model/anthropic", "model/openai", "model/script",
		"team", "team/board", "team/board/kvboard", "team/protocol", "tool", "tool/builtin",
	},

	// 6: programs
	"internal/mcpserve": {"", "event", "mailbox", "team", "tool"},
	"cmd/swarm": {
		"", "actors", "defs", "event", "examples/review", "internal/defedit", "internal/executor", "internal/mcpserve", "internal/term", "internal/tui", "mailbox", "model",
		"team", "team/board",
	},
	"examples/review":     {"", "defs"},
	"examples/embed":      {"", "actors", "event"},
	"examples/debate":     {"", "event"},
	"examples/buspeer":    {},
	"examples/embed-team": {"", "event", "team"},
	"examples/bus":        {"mailbox", "mailbox/natsbox"},

	// test kits: product code never imports them
	"internal/journal/journaltest": {"internal/journal"},
	"internal/natsd/natsdtest":     {"internal/natsd"},
	"mailbox/mailboxtest":          {"mailbox"},
	"model/modeltest":              {"model"},
	"team/board/boardtest":         {"team/board"},
	"tool/tooltest":                {"tool"},
	"internal/archtest":            {},
	"internal/chaos":               {},
}

// owner names the one package that may import a heavy module, so that it can be
// replaced in one place.
var owner = map[string][]string{
	"github.com/asynkron/protoactor-go":      {"actors/kernel"},
	"github.com/nats-io/nats-server":         {"internal/natsd"},
	"github.com/nats-io/nkeys":               {"internal/natsd"},
	"github.com/nats-io/nats.go":             {"", "internal/natsd", "internal/natsd/natsdtest", "internal/object/bucket", "internal/patient", "mailbox/natsbox", "team/board/kvboard"},
	"github.com/anthropics/anthropic-sdk-go": {"model/anthropic"},
	"github.com/spf13/cobra":                 {"cmd/swarm"},
	"github.com/modelcontextprotocol/go-sdk": {"internal/mcpserve"},
	"github.com/muesli/cancelreader":         {"internal/tui"},
	"go.yaml.in/yaml":                        {"defs", "internal/price", "internal/teamfile", "model/script"},
	"charm.land":                             {"cmd/swarm", "internal/tui"},
	"mvdan.cc/sh":                            {"internal/permission"},
	"github.com/gofrs/flock":                 {"internal/journal", "internal/natsd"},
	"github.com/bmatcuk/doublestar":          {"tool/builtin"},
}

type listed struct {
	ImportPath string
	Imports    []string
}

func TestImportsPointDownwards(t *testing.T) {
	for _, p := range packages(t) {
		name := local(p.ImportPath)
		allowed, known := may[name]
		if !known {
			t.Errorf("package %q is not in the map: decide what it may import and add it", name)
			continue
		}
		for _, imp := range p.Imports {
			if !strings.HasPrefix(imp, module) {
				continue
			}
			if dep := local(imp); !slices.Contains(allowed, dep) {
				t.Errorf("%q imports %q; the map allows it %v: an import goes down a level, so that each can be read and tested without those above", name, dep, allowed)
			}
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
