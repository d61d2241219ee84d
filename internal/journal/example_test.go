package journal_test

import (
	"fmt"
	"log"

	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/internal/journal/journaltest"
)

// A counter per stream: its records are steps, its snapshot is the total.
func Example() {
	disk := journaltest.New() // a program leaves Options.FS out
	total := 0
	for range 2 { // two lives of the same program
		j, err := journal.Open("/counter", journal.Options{FS: disk})
		if err != nil {
			log.Fatal(err)
		}
		total = 0
		err = j.Live(func(r journal.Record) error {
			if r.Snapshot {
				_, err := fmt.Sscan(string(r.Data), &total)
				return err
			}
			total++
			return nil
		})
		if err != nil {
			log.Fatal(err)
		}
		for range 3 {
			if err := j.Commit("counter", 1, nil); err != nil {
				log.Fatal(err)
			}
			total++
		}
		err = j.Checkpoint(func(snap func(string, []byte)) error {
			snap("counter", fmt.Append(nil, total))
			return nil
		})
		if err != nil {
			log.Fatal(err)
		}
		if err := j.Close(); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(total)
	// Output: 6
}
