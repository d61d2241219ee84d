package session_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/actorswarm/swarm/session"
)

// kept returns a session with its directories, below a state directory.
func kept(t *testing.T, state, dir, id string) session.Info {
	t.Helper()
	i := session.Info{ID: id, Dir: dir, Path: filepath.Join(session.Dir(state, dir), id)}
	if err := errors.Join(i.MakeDirs(), i.Write()); err != nil {
		t.Fatal(err)
	}
	return i
}

func TestAnUpdateThatIsNotWrittenDoesNotHappen(t *testing.T) {
	i := kept(t, t.TempDir(), "/work", "a")
	record := session.NewFile(i)
	if err := os.Mkdir(filepath.Join(i.Path, "session.json.new"), 0o700); err != nil { // in the way of each write
		t.Fatal(err)
	}
	if err := record.Update(func(i *session.Info) error { i.Model = "opus"; return nil }); err == nil {
		t.Error("what could not be written is no error")
	}
	if got := record.Get().Model; got != "" {
		t.Errorf("a change that is not on disk is seen: %q", got)
	}
	if err := record.Update(func(*session.Info) error { return nil }); err != nil {
		t.Errorf("what changes nothing is written: %v", err)
	}
	if err := os.Remove(filepath.Join(i.Path, "session.json.new")); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("refused")
	if err := record.Update(func(i *session.Info) error { i.Model = "haiku"; return refused }); !errors.Is(err, refused) || record.Get().Model != "" {
		t.Errorf("a change that failed is seen: %q, %v", record.Get().Model, err)
	}
	if err := record.Update(func(i *session.Info) error { i.Model = "opus"; return nil }); err != nil {
		t.Fatal(err)
	}
	if got, err := session.Read(i.Path); err != nil || got.Model != "opus" || record.Get().Model != "opus" {
		t.Errorf("the file says %q (%v), and the record %q", got.Model, err, record.Get().Model)
	}
}

func TestUpdatesFollowEachOther(t *testing.T) {
	i := kept(t, t.TempDir(), "/work", "a")
	record := session.NewFile(i)
	before := record.Get()
	var work sync.WaitGroup
	for n := range 20 {
		work.Go(func() {
			if err := record.Update(func(i *session.Info) error { return i.SetBridge(fmt.Sprintf("other-%d", n), true) }); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	if got := record.Get().Bridges; len(got) != 20 || len(before.Bridges) != 0 {
		t.Errorf("of 20 changes %d are there; the record from before has %d", len(got), len(before.Bridges))
	}
	all := record.Get()
	names := slices.Clone(all.Bridges)
	if err := record.Update(func(i *session.Info) error { return i.RemoveBridge("other-0") }); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(names, all.Bridges) || len(record.Get().Bridges) != 19 {
		t.Error("an update wrote into a record that was returned")
	}
}

func TestAListLeavesOutWhatIsNoSession(t *testing.T) {
	state := t.TempDir()
	a, b := kept(t, state, "/work", "a-1"), kept(t, state, "/elsewhere", "a-2")
	if err := os.WriteFile(filepath.Join(kept(t, state, "/work", "broken").Path, "session.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := session.List(state, "")
	if err != nil || len(all) != 2 {
		t.Fatalf("the sessions are %+v, %v", all, err)
	}
	if here, err := session.List(state, "/work"); err != nil || len(here) != 1 || here[0].ID != a.ID || here[0].Path != a.Path {
		t.Errorf("the sessions of a directory are %+v, %v", here, err)
	}
	if got, err := session.Find(state, "", b.ID); err != nil || got.StateDir() != state || got.Dir != "/elsewhere" {
		t.Errorf("the session is %+v, %v", got, err)
	}
	for _, id := range []string{"a-", "c"} { // of two, of none
		missing := (*session.NotFoundError)(nil)
		if _, err := session.Find(state, "", id); !errors.As(err, &missing) || len(missing.Known) != 2 {
			t.Errorf("%q leads to %v", id, err)
		}
	}
}

func TestBusUsersAreKeptByName(t *testing.T) {
	i := kept(t, t.TempDir(), "/work", "a")
	for _, u := range []session.BusUser{{Name: "eve", Key: "1"}, {Name: "bob", Key: "2"}, {Name: "eve", Key: "3"}} {
		if _, err := i.PutBusUser(u); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := i.BusUsers(); err != nil || len(all) != 2 || all[0].Name != "bob" || all[1].Key != "3" {
		t.Errorf("the users are %+v, %v", all, err)
	}
	if all, err := i.PutBusUser(session.BusUser{Name: "bob"}); err != nil || len(all) != 1 || all[0].Name != "eve" {
		t.Errorf("without bob the users are %+v, %v", all, err)
	}
}
