package swarm_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/model"
)

const treeDepth, treeWidth = 4, 3

// tree runs a lead whose agents start others in the background, end their turn
// and wait, or goes on with it after a kill.
func tree(state string) error {
	say := func(_ context.Context, step int, r *model.Request) *model.Answer {
		at := "0"
		if found := treePlace.FindStringSubmatch(string(r.Messages[0].Raw())); found != nil {
			at = found[1]
		}
		return treeNode(at, step, r)
	}
	m := coordinatortest.By(coordinatortest.Answers{agent.LeadName: say, "general-purpose": say})
	return liveOn(state, m, func(f event.Fact) bool { _, ok := f.(event.MailArrived); return ok })
}

var (
	treePlace  = regexp.MustCompile(`Place ([0-9.]+);`)
	treeReport = regexp.MustCompile(`Report of ([0-9.]+);`)
)

func treeNode(at string, step int, r *model.Request) *model.Answer {
	if strings.Count(at, ".") == treeDepth {
		return coordinatortest.Say("Report of " + at + ";")
	}
	if step == 0 {
		var calls []model.Block
		for i := range treeWidth {
			calls = append(calls, coordinatortest.Spawn(fmt.Sprint("c", i), map[string]any{
				"description": "d", "prompt": fmt.Sprintf("Place %s.%d;", at, i), "run_in_background": true,
			}))
		}
		return coordinatortest.Use(calls...)
	}
	heard := 0
	for _, m := range r.Messages {
		if m.Role() == model.RoleUser {
			heard += len(treeReport.FindAll(m.Raw(), -1))
		}
	}
	if heard < treeWidth {
		return coordinatortest.Say("waiting")
	}
	return coordinatortest.Say("Report of " + at + ";")
}

// TestProblem12_EachSpawnerIsToldOnceAcrossKill9 kills the whole process, server
// included, at random points of a tree of 120 agents of whom every inner one ends
// its turn and waits. No terminal is there.
func TestProblem12_EachSpawnerIsToldOnceAcrossKill9(t *testing.T) {
	runs := 1
	if os.Getenv("SWARM_SOAK") != "" {
		runs = 5
	}
	for range runs {
		killedTree(t, t.TempDir())
	}
}

func killedTree(t *testing.T, state string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 3))
	kills := 0
	for range 3 {
		if _, killed := life(t, "tree", state, 1+rng.IntN(30)); killed {
			kills++
		}
	}
	if _, killed := life(t, "tree", state, -1); killed || kills != 3 {
		t.Fatalf("killed %d times, the last life: %v", kills, killed)
	}
	info, err := swarm.FindSession(state, state, crowdSession)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(info.Path, "transcripts", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]int{}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if len(raw) == 0 {
			continue // of an agent that a kill kept from being started
		}
		at, heard := treeHeard(t, string(raw))
		for _, from := range heard {
			told[from]++
			if from[:strings.LastIndex(from, ".")] != at {
				t.Errorf("the report of %s is at %s", from, at)
			}
		}
	}
	want := 0
	for range treeDepth {
		want = (want + 1) * treeWidth
	}
	for from, n := range told {
		if n != 1 {
			t.Errorf("the report of %s was read %d times", from, n)
		}
	}
	if len(told) != want {
		t.Errorf("%d reports were read, want %d", len(told), want)
	}
	t.Logf("%d of %d reports were read by their spawner, by nobody else, and once; %d kills", len(told), want, kills)
}

// treeHeard returns the place of an agent in the tree and whose reports its
// conversation holds, from its transcript file.
func treeHeard(t *testing.T, file string) (at string, heard []string) {
	t.Helper()
	at = "0"
	for _, text := range strings.Split(strings.TrimSpace(file), "\n") {
		var line struct {
			Type    string          `json:"type"`
			Message json.RawMessage `json:"message"`
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		if line.Type != "user" {
			continue
		}
		if found := treePlace.FindSubmatch(line.Message); found != nil {
			at = string(found[1])
		}
		for _, found := range treeReport.FindAllSubmatch(line.Message, -1) {
			heard = append(heard, string(found[1]))
		}
	}
	return at, heard
}
