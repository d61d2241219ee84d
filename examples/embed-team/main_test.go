package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestTheTeamDoesBothTasksInOrder(t *testing.T) {
	var out bytes.Buffer
	if err := work(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"ann begins\n", "ben begins\n", "task 1. [completed] draw the plan (ann)\n", "task 2. [completed] check the plan (ben)\n", "the lead says: ",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, &out)
		}
	}
}
