package swarm_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/actors/actorstest"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/model"
)

// The environment that makes this test binary a swarm of its own, to be killed.
const (
	roleVar  = "SWARM_TEST_ROLE"
	stateVar = "SWARM_TEST_STATE"
)

func TestMain(m *testing.M) {
	if os.Getenv(roleVar) == "crowd" {
		if err := crowd(os.Getenv(stateVar)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const (
	crowdSession = "crowd"
	senders      = 5
	perSender    = 200
	perStep      = 20
)

// crowd runs 5 teammates that write 200 messages each to one that is busy with
// shell commands, or goes on with it after a kill. It ends when all is said.
func crowd(state string) error {
	o := swarm.Options{
		Dir: state, StateDir: state, Home: state, Mode: "bypassPermissions",
		Models: func(name string) (model.Model, string, error) { return crowdModel(), name, nil },
	}
	if _, err := swarm.FindSession(state, state, crowdSession); err == nil {
		o.Session = crowdSession
	} else {
		o.NewSession = crowdSession
	}
	ctx := context.Background()
	s, err := swarm.Open(ctx, o)
	if err != nil {
		return err
	}
	go narrate(ctx, s.Events())
	if o.Session == "" || s.Info().Prompt == "" {
		_, err = s.Run(ctx, "begin")
	} else {
		_, err = s.Resume(ctx)
	}
	return errors.Join(err, s.Close())
}

// narrate says on standard output how many messages have arrived, so that the
// killer can tell how far the crowd is.
func narrate(ctx context.Context, sub *event.Subscription) {
	for {
		e, err := sub.Next(ctx)
		if err != nil {
			return
		}
		if m, ok := e.Fact.(event.MailArrived); ok && m.Envelope.ToName == "sink" {
			fmt.Println("arrived")
		}
	}
}

func crowdModel() model.Model {
	say := actorstest.Answers{
		actors.LeadName: func(_ context.Context, step int, _ *model.Request) *model.Answer {
			if step > 0 {
				return actorstest.Say("ok")
			}
			calls := []model.Block{crowdMate("sink")}
			for i := range senders {
				calls = append(calls, crowdMate(fmt.Sprint("sender", i)))
			}
			return actorstest.Use(calls...)
		},
		"sink": func(_ context.Context, step int, r *model.Request) *model.Answer {
			if crowdHeard(r) < senders*perSender {
				return actorstest.Use(actorstest.Call(fmt.Sprint("b", step), "Bash", map[string]any{"command": "sleep 0.02"}))
			}
			return actorstest.Say("heard all")
		},
	}
	for i := range senders {
		say[fmt.Sprint("sender", i)] = func(_ context.Context, step int, _ *model.Request) *model.Answer {
			if step >= perSender/perStep {
				return actorstest.Say("said all")
			}
			var calls []model.Block
			for k := range perStep {
				n := step*perStep + k
				calls = append(calls, actorstest.Call(fmt.Sprint("s", n), "SendMessage",
					map[string]any{"to": "sink", "message": crowdBody(i, n)}))
			}
			return actorstest.Use(calls...)
		}
	}
	return actorstest.By(say)
}

func crowdMate(name string) model.Block {
	return actorstest.Spawn("spawn-"+name, map[string]any{"description": name, "prompt": "begin", "name": name})
}

func crowdBody(sender, n int) string { return fmt.Sprintf("number %d of sender %d.", n, sender) }

func crowdHeard(r *model.Request) int {
	n := 0
	for _, m := range r.Messages {
		if m.Role() == model.RoleUser {
			n += strings.Count(string(m.Raw()), "of sender ")
		}
	}
	return n
}

// TestPromise1_EveryMessageArrivesOnceAndInOrderAcrossKill9 kills the whole
// process, server included, at three random points.
func TestPromise1_EveryMessageArrivesOnceAndInOrderAcrossKill9(t *testing.T) {
	state := t.TempDir()
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	arrived, killed := 0, 0
	for _, until := range []int{50 + rng.IntN(200), 200 + rng.IntN(200), 100 + rng.IntN(100)} {
		n, wasKilled := runCrowd(t, state, until)
		arrived += n
		if wasKilled {
			killed++
		}
		t.Logf("killed: %v after %d arrivals of this life", wasKilled, n)
	}
	if killed != 3 {
		t.Fatalf("the process was killed %d times in mid-work, want 3", killed)
	}
	if _, wasKilled := runCrowd(t, state, -1); wasKilled {
		t.Fatal("the last life was cut")
	}
	checkCrowd(t, state)
}

// runCrowd runs the crowd until it has ended or, with until ≥ 0, until so many
// messages have arrived: then it is killed.
func runCrowd(t *testing.T, state string, until int) (arrived int, killed bool) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), roleVar+"=crowd", stateVar+"="+state)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if arrived++; arrived == until {
			killed = cmd.Process.Kill() == nil
		}
	}
	if err := cmd.Wait(); err != nil && !killed {
		t.Fatalf("the crowd failed: %v", err)
	}
	return arrived, killed
}

// checkCrowd reads the receiver's transcript as people do: every message once,
// each sender's in the order in which they were sent.
func checkCrowd(t *testing.T, state string) {
	t.Helper()
	info, err := swarm.FindSession(state, state, crowdSession)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, line := range conversation(t, info.Path, "sink") {
		text.WriteString(line)
	}
	for i := range senders {
		at := -1
		for k := range perSender {
			body := crowdBody(i, k)
			if n := strings.Count(text.String(), body); n != 1 {
				t.Fatalf("message %d of sender %d is in the conversation %d times", k, i, n)
			}
			if next := strings.Index(text.String(), body); next < at {
				t.Fatalf("message %d of sender %d came before one that was sent earlier", k, i)
			} else {
				at = next
			}
		}
	}
}

// conversation returns the messages of the transcript file of an agent.
func conversation(t testing.TB, session, name string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(session, "transcripts", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		mine := false
		for _, text := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
			var line struct {
				Name    string          `json:"agentName"`
				Message json.RawMessage `json:"message"`
			}
			if err := json.Unmarshal([]byte(text), &line); err != nil {
				t.Fatalf("%s: %v in %s", f, err, text)
			}
			mine = mine || line.Name == name
			lines = append(lines, string(line.Message))
		}
		if mine {
			return lines
		}
	}
	t.Fatalf("no transcript of %s among %v", name, files)
	return nil
}
