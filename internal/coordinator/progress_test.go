package coordinator

import (
	"testing"
	"time"

	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/model"
)

func TestProgressIsPublishedAtMostOnceInASecond(t *testing.T) {
	var m meter
	begun := time.Unix(1000, 0)
	told := 0
	for i := range 100 { // ten facts a second, for ten seconds
		now := begun.Add(time.Duration(i) * 100 * time.Millisecond)
		m.observe(event.Delta{}, now)
		if tool, tell := m.observe(event.CallStarted{Call: model.Call{Name: "Read"}}, now); tell {
			told++
			if tool != "Read" {
				t.Errorf("the last tool is %q", tool)
			}
		}
		if _, tell := m.observe(event.CallFinished{}, now); tell {
			t.Error("the same moment was told twice")
		}
	}
	if told != 10 {
		t.Errorf("progress was told %d times in ten seconds", told)
	}
}
