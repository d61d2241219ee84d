package swarm_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/model"
)

// Looking at a session that does not run leaves every file as it was, however
// often it is done.
func TestPeekChangesNoFile(t *testing.T) {
	s := session(t, map[string]model.Model{"": coordinatortest.By(coordinatortest.Answers{agent.LeadName: func(context.Context, int, *model.Request) *model.Answer { return coordinatortest.Say("fine") }})}, swarm.Options{})
	run(t, s, "go")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before := filesOf(t, s.Info().Path)
	for range 3 {
		v, err := swarm.Look(s.Info().StateDir(), s.Info())
		if err != nil {
			t.Fatal(err)
		}
		all, err := v.Agents(t.Context())
		if err := errors.Join(err, v.Close()); err != nil || len(all) != 2 {
			t.Fatalf("%d agents, error %v", len(all), err)
		}
		if notes, err := swarm.Notes(t.Context(), s.Info()); err != nil || len(notes) > 0 {
			t.Fatalf("notes %q, error %v", notes, err)
		}
	}
	if after := filesOf(t, s.Info().Path); !maps.Equal(before, after) {
		t.Errorf("the files were\n%q\nand are\n%q", before, after)
	}
}

// filesOf returns the content of every file below dir.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		all[path] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
