package coordinator_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/tool"
	"github.com/actorswarm/swarm/tool/builtin"
)

// The nine children with a real process, in real time.
func TestAToolThatIgnoresSIGTERMLeavesNoProcess(t *testing.T) {
	dir := t.TempDir()
	pids := filepath.Join(dir, "pids")
	command := "trap '' TERM; echo $$ >pids; (sleep 600; :) & echo $! >>pids; setsid sleep 600 & echo $! >>pids; wait; sleep 600"
	hang := coordinatortest.Call("h", "Bash", map[string]any{"command": command})
	n := coordinatortest.New(t, dir, nine(false, hang, func(context.Context) {}), nodeOptions{
		Agents: ninesTypes, MoreNames: []string{"Bash"},
		MoreTools: func(_ *coordinator.Coordinator, a coordinator.Agent) []tool.Tool {
			return builtin.New(builtin.Env{Dir: dir, OutputDir: dir, Tag: string(a.Spec.ID), Session: t.Name(), Getenv: os.Getenv})
		},
		Policy: spawn.Policy{Deadlines: agent.Deadlines{Start: time.Second, Gap: time.Second, Tool: time.Second}},
	})
	n.Begin(t)
	sub := n.Bus.Subscribe()
	defer sub.Close()
	begun := time.Now()
	must(t, n.Lead.Prompt("user", "go"))
	n.Wake(agent.LeadID)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	all, err := ends(ctx, n, sub, begun)
	must(t, err)
	checkNine(t, n, all)
	listed, err := os.ReadFile(pids)
	must(t, err)
	if len(strings.Fields(string(listed))) != 3 {
		t.Fatalf("the command did not begin: %q", listed)
	}
	for _, text := range strings.Fields(string(listed)) {
		pid, err := strconv.Atoi(text)
		must(t, err)
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && !bytes.Contains(stat, []byte(") Z ")) {
			t.Errorf("process %d is there: %s", pid, stat)
		}
	}
}
