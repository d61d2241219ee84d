package journal_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/actorswarm/swarm/internal/journal"
)

const victimEnv = "JOURNAL_TEST_VICTIM_DIR"

// TestKillNineLosesNothingAcknowledged kills real processes on a real disk. A line on
// the victim's output is an acknowledged record.
func TestKillNineLosesNothingAcknowledged(t *testing.T) {
	if at := os.Getenv(victimEnv); at != "" {
		victim(t, at)
		return
	}
	at, told := t.TempDir(), map[string]bool{}
	rounds := 6
	if testing.Short() {
		rounds = 2
	}
	for round := range rounds {
		killed(t, at, round, told)
		j, err := journal.Open(at, journal.Options{SegmentBytes: 20_000})
		if err != nil {
			t.Fatal(err)
		}
		if r := j.Report(); len(r.Damage) > 0 {
			t.Errorf("a killed process is no damage: %v", r)
		}
		checkTold(t, j, told)
		shut(t, j)
	}
}

// killed runs a victim until it has acknowledged some records.
func killed(t *testing.T, at string, round int, told map[string]bool) {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKillNineLosesNothingAcknowledged$")
	c.Env = append(os.Environ(), victimEnv+"="+at)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for n := 0; lines.Scan(); n++ {
		told[lines.Text()] = true
		if n == 300+170*round {
			if err := c.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := c.Wait(); err == nil {
		t.Error("the victim was not killed")
	}
}

func checkTold(t *testing.T, j *journal.Journal, told map[string]bool) {
	t.Helper()
	last, found := map[string]int{}, map[string]bool{}
	for w := range 4 {
		for r, err := range j.History(fmt.Sprint("w", w)) {
			if err != nil {
				t.Fatal(err)
			}
			line := string(r.Data)
			life, n := "", 0
			if _, err := fmt.Sscanf(line[strings.Index(line, " ")+1:], "%s %d", &life, &n); err != nil {
				t.Fatal(err)
			}
			if key := fmt.Sprint(w, life); n != last[key]+1 {
				t.Errorf("writer %d of %s: record %d after %d", w, life, n, last[key])
			}
			last[fmt.Sprint(w, life)] = n
			found[line] = true
		}
	}
	for line := range told {
		if !found[line] {
			t.Errorf("%q was acknowledged and is gone", line)
		}
	}
}

// victim commits until it is killed, with a checkpoint now and then.
func victim(t *testing.T, at string) {
	j, err := journal.Open(at, journal.Options{SegmentBytes: 20_000})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var out sync.Mutex
	for w := range 4 {
		wg.Go(func() {
			for n := 1; ; n++ {
				line := fmt.Sprintf("w%d life%d %d", w, os.Getpid(), n)
				if err := j.Commit(fmt.Sprint("w", w), 1, []byte(line)); err != nil {
					t.Error(err)
					return
				}
				out.Lock()
				_, err := fmt.Println(line)
				out.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	for range j.CheckpointDue() {
		err := j.Checkpoint(func(snap func(string, []byte)) error {
			for w := range 4 {
				snap(fmt.Sprint("w", w), []byte("state"))
			}
			return nil
		})
		if err != nil && !errors.Is(err, journal.ErrFailed) {
			t.Error(err)
		}
	}
	wg.Wait()
}
