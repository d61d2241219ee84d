package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestTheJudgeHearsBothSides(t *testing.T) {
	var out bytes.Buffer
	if err := debate(t.Context(), &out, "", "shall we add a cache?"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"pro → judge: FOR: ", "contra → judge: AGAINST: ",
		"The verdict: pro says it is small and can be taken back. Contra says nobody has asked for it. Leave it until somebody asks.",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, &out)
		}
	}
}
