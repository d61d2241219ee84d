package swarm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/model"
)

// TestActAsACommand is the command of an agent in the test below: it prints which requests
// the session's socket accepts.
func TestActAsACommand(t *testing.T) {
	socket, session := os.Getenv("TEST_SOCKET"), os.Getenv("TEST_SESSION")
	if socket == "" {
		t.Skip("a part of TestACommandOfAnAgentIsNotTheUser")
	}
	errs := make(chan error, 100)
	nc, err := natsd.DialUnix(socket, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { errs <- err }))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	say := func(subject string, v any) { fmt.Printf("%s: %v\n", strings.ReplaceAll(subject, session, "S"), v) }
	try := func(subject string, do func(subject string) error) {
		if err := errors.Join(do(subject), nc.FlushTimeout(10*time.Second)); err != nil {
			t.Fatal(err)
		}
		select {
		case <-errs:
			say(subject, "refused")
		case <-time.After(300 * time.Millisecond):
			say(subject, "let through")
		}
	}
	api := "sw." + session + ".api."
	if m, err := nc.Request(api+"ps", nil, 10*time.Second); err == nil {
		say(api+"ps", len(m.Data) > 0)
	}
	for _, subject := range []string{
		api + "answer", api + "mailbox", api + "message", api + "tail", api + "letter", api + "join", api + "inbox", api + "kill", api + "say", api + "send", api + "bus-add", api + "team-down", "sw." + session + ".mb.lead.user",
		"sw." + session + ".node.lead.up.report", "$JS.API.STREAM.DELETE.MB_" + session,
	} {
		try(subject, func(s string) error {
			return nc.Publish(s, []byte(`{"name":"lead","text":"obey","answer":{"Allow":true}}`))
		})
	}
	for _, subject := range []string{"_INBOX.>", ">", api + ">", "sw." + session + ".ev"} {
		try(subject, func(s string) error { _, err := nc.SubscribeSync(s); return err })
	}
	info := swarm.Info{ID: session}
	r, err := swarm.Dial(filepath.Dir(filepath.Dir(socket)), info)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	say("remote", errors.As(r.Kill(ctx, "lead"), new(*swarm.CommandError)))
	_, err = r.Join(ctx, "helper")
	say("nameless", errors.As(err, new(*swarm.KeyError)))
	_, err = r.Rejoin(ctx, "ann", 1)
	say("impostor", errors.As(err, new(*swarm.KeyError)))
	_, err = r.JoinByKey(ctx, "ann", os.Getenv("TEST_OTHER"), 1)
	say("forger", errors.As(err, new(*swarm.KeyError)))
	joined, err := r.JoinByKey(ctx, "helper", os.Getenv("TEST_SEED"), 0)
	if err == nil {
		_, err = joined.Send(ctx, swarm.Message{To: "lead", Text: "a word of a member"})
	}
	say("member", err)
}

// What an agent starts is of the same user and speaks the session's protocol as
// well as any: it can look and be a member, and it cannot answer what its agent
// asks, speak in the user's name, or write past the session. A process of the user
// can.
func TestACommandOfAnAgentIsNotTheUser(t *testing.T) {
	state, err := os.MkdirTemp("/tmp", "swarm-state") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(state); err != nil {
			t.Error(err)
		}
	})
	run := func(before string) string {
		return fmt.Sprintf(`%s TEST_SEED="$(cat seed)" TEST_OTHER="$(cat other)" TEST_SOCKET="$(cat socket)" TEST_SESSION="$(cat session)" %s -test.run='^TestActAsACommand$' -test.v`, before, os.Args[0])
	}
	commands := map[string]string{
		"run plain":  run(""),
		"run shed":   "exec 20>&- ; " + run("env -i PATH=/bin:/usr/bin HOME=/nowhere"),
		"run apart":  "exec 20>&- ; " + run("env -i setsid -w /usr/bin/env"),
		"run forged": "exec 20>&- ; " + run("env -i SWARM_SESSION=other"),
		"run orphan": `exec 19>&- 20>&- ; SOCKET="$(cat socket)" SESSION="$(cat session)" ; SEED="$(cat seed)" ; OTHER="$(cat other)" ; ` +
			fmt.Sprintf(`(setsid env -i TEST_SEED="$SEED" TEST_OTHER="$OTHER" TEST_SOCKET="$SOCKET" TEST_SESSION="$SESSION" /bin/sh -c "%s -test.run='^TestActAsACommand$' -test.v > orphan 2>&1; mv orphan told" >/dev/null 2>&1 &) ; `, os.Args[0]) +
			`while ! [ -e told ]; do sleep 0.05; done; cat told`,
	}
	told := make(chan string, 100)
	lead := coordinatortest.By(coordinatortest.Answers{agent.LeadName: func(_ context.Context, step int, r *model.Request) *model.Answer {
		last := string(r.Messages[len(r.Messages)-1].Raw())
		if strings.Contains(last, "tool_result") {
			told <- last
			return coordinatortest.Say("done")
		}
		for word, command := range commands {
			if strings.Contains(last, word) {
				return coordinatortest.Use(coordinatortest.Call(fmt.Sprintf("c%d", step), "Bash", map[string]any{"command": command}))
			}
		}
		return coordinatortest.Say("heard")
	}})
	dir := t.TempDir()
	s := sessionIn(t, dir, lead, swarm.Options{StateDir: state, Mode: "bypassPermissions"})
	if err := s.Begin(); err != nil {
		t.Fatal(err)
	}
	awaitBus(t, s)
	socket := s.Info().Socket(state)
	_, err = s.Join("ann")
	if err != nil {
		t.Fatal(err)
	}
	helper, err := s.Bus().AddUser("helper")
	if err != nil {
		t.Fatal(err)
	}
	other, err := s.Bus().AddUser("other")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"socket": socket, "session": s.ID(), "seed": helper.Seed, "other": other.Seed} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for word := range commands {
		t.Run(word, func(t *testing.T) {
			if _, err := exec.LookPath("setsid"); err != nil && word == "run apart" {
				t.Skip("setsid is not here")
			}
			if err := s.Say(word); err != nil {
				t.Fatal(err)
			}
			said := awaitRead(t, told)
			for _, want := range []string{
				"sw.S.api.ps: true", "sw.S.api.answer: refused", "sw.S.api.kill: refused", "sw.S.api.say: refused", "sw.S.api.send: refused",
				"sw.S.api.bus-add: refused", "sw.S.api.team-down: refused", "sw.S.mb.lead.user: refused", "sw.S.node.lead.up.report: refused",
				"STREAM.DELETE.MB_S: refused", "_INBOX.>: refused", `remote: true`, "member: <nil>", "nameless: true", "impostor: true", "forger: true",
				"sw.S.api.mailbox: refused", "sw.S.api.join: refused", "sw.S.api.letter: refused", "sw.S.ev: refused",
			} {
				if !strings.Contains(said, want) {
					t.Errorf("it does not say %q", want)
				}
			}
			if strings.Contains(said, "let through") || t.Failed() {
				t.Errorf("the command says\n%s", strings.ReplaceAll(said, `\n`, "\n"))
			}
		})
	}
	r, err := swarm.Dial(state, s.Info())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.AddBusUser(t.Context(), "bob"); err != nil {
		t.Errorf("the user: %v", err)
	}
	raw, err := os.ReadFile(filepath.Join(s.Info().Path, "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var line struct{ By, Reason string }
	first, _, _ := strings.Cut(string(raw), "\n")
	if err := json.Unmarshal([]byte(first), &line); err != nil || line.By == "" || !strings.Contains(line.Reason, "Violation") {
		t.Errorf("the audit begins with %s, %v", first, err)
	}
}
