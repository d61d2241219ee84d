package modeltest

import (
	"context"
	"errors"
	"testing"

	"github.com/actorswarm/swarm/model"
)

func TestFakeAnswersInTurnAndRecords(t *testing.T) {
	boom := errors.New("boom")
	f := Script(Text("some words"), Call("id", "Bash", map[string]string{"command": "ls"}), Fail(boom))
	events, a, err := collect(t, f, Request("one"))
	if err != nil || a.Text() != "some words" || len(events) < 3 {
		t.Errorf("%v %v %v", events, a, err)
	}
	if a, err := model.Complete(t.Context(), f, Request("two")); err != nil || string(a.Calls()[0].Input) != `{"command":"ls"}` || a.StopReason != model.StopToolUse {
		t.Errorf("%v %v", a, err)
	}
	if _, err := model.Complete(t.Context(), f, Request("three")); !errors.Is(err, boom) {
		t.Error(err)
	}
	if _, err := model.Complete(t.Context(), f, Request("four")); kind(err) != model.Invalid {
		t.Errorf("beyond the script: %v", err)
	}
	if got := f.Requests(); len(got) != 4 || got[1].Messages[0].Text() != "two" {
		t.Errorf("recorded %+v", got)
	}
}

func TestFakeObeysTheContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("stop")
	f := Each(func(ctx context.Context, r *model.Request) (*model.Answer, error) {
		cancel(why)
		return Hang()(ctx, r)
	})
	if _, err := model.Complete(ctx, f, Request("x")); !errors.Is(err, why) {
		t.Error(err)
	}
}

func TestServerRecordsBodiesByteForByte(t *testing.T) {
	srv := NewServer(t, Anthropic, Replies(Error(500, "api_error", "x")))
	res, err := srv.Client().Post(srv.URL, "application/json", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 500 || len(srv.Requests()) != 1 || srv.Count("x") != 0 {
		t.Errorf("status %d, %d requests", res.StatusCode, len(srv.Requests()))
	}
}
