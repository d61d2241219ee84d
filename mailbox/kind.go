package mailbox

import (
	"fmt"
	"slices"
	"strings"
)

// Kind says what a message is for. The set is closed: a decoder refuses a kind
// it does not know, because guessing would change what the message means. The
// bodies of the kinds are the types of package message.
type Kind string

// The kinds of message.
const (
	KindText                 Kind = "text"                   // one agent writes to one other
	KindBroadcast            Kind = "broadcast"              // one of the copies of a message to everybody
	KindAgentReport          Kind = "agent_report"           // the outcome of a finished agent
	KindIdle                 Kind = "idle"                   // a teammate says that it has nothing to do
	KindShutdownRequest      Kind = "shutdown_request"       // asks a member to end
	KindShutdownResponse     Kind = "shutdown_response"      // it agrees, or objects once
	KindPlanApprovalRequest  Kind = "plan_approval_request"  // a member shows what it is going to do
	KindPlanApprovalResponse Kind = "plan_approval_response" // the decision about that
	KindPermissionRequest    Kind = "permission_request"     // a call that a person must allow
	KindPermissionResponse   Kind = "permission_response"    // the person's decision
	KindQuestion             Kind = "question"               // something only a person can say
	KindAnswer               Kind = "answer"                 // what the person said
	KindTaskAssigned         Kind = "task_assigned"          // a task of the board was given to the receiver
	KindTaskCompleted        Kind = "task_completed"         // a task that the receiver waits for is done
	KindReceipt              Kind = "receipt"                // what became of a message, for people and models
)

// kinds holds every kind at its number in journals: only append.
var kinds = [...]Kind{
	1: KindText, 2: KindBroadcast, 3: KindAgentReport, 4: KindIdle,
	5: KindShutdownRequest, 6: KindShutdownResponse, 7: KindPlanApprovalRequest, 8: KindPlanApprovalResponse,
	9: KindPermissionRequest, 10: KindPermissionResponse, 11: KindQuestion, 12: KindAnswer,
	13: KindTaskAssigned, 14: KindTaskCompleted, 15: KindReceipt,
}

// Kinds returns every kind.
func Kinds() []Kind { return slices.Clone(kinds[1:]) }

// Valid reports whether the kind belongs to the closed set.
func (k Kind) Valid() bool { return k.number() != 0 }

func (k Kind) number() byte {
	if k == "" {
		return 0
	}
	return byte(max(slices.Index(kinds[:], k), 0))
}

func kindOf(n byte) Kind {
	if int(n) >= len(kinds) {
		return ""
	}
	return kinds[n]
}

func kindError(k Kind) error {
	names := make([]string, 0, len(kinds))
	for _, known := range kinds[1:] {
		names = append(names, string(known))
	}
	return fmt.Errorf("mailbox: unknown kind of message %.80q; known are %s", k, strings.Join(names, ", "))
}

// Class says when a message enters the receiver's conversation.
type Class string

// The classes.
const (
	// ClassControl cancels the running tool or stream and is the first thing the
	// receiver reads after it.
	ClassControl Class = "control"
	// ClassSteer enters at the next step boundary, in the middle of a turn.
	ClassSteer Class = "steer"
	// ClassMail waits for the end of the turn.
	ClassMail Class = "mail"
)

var classes = [...]Class{1: ClassControl, 2: ClassSteer, 3: ClassMail}

// Valid reports whether the class belongs to the closed set; "" does.
func (c Class) Valid() bool { return slices.Contains(classes[:], c) }

func (c Class) number() byte { return byte(max(slices.Index(classes[:], c), 0)) }

// ClassOf returns the class that a message travels in: its own or its kind's.
func (e Envelope) ClassOf() Class {
	switch {
	case e.Class != "":
		return e.Class
	case e.Kind == KindShutdownRequest:
		return ClassControl
	case e.Kind == KindTaskCompleted, e.Kind == KindReceipt:
		return ClassMail
	}
	return ClassSteer
}

// Wakes says whether a receiver that rests begins a turn for the message. An idle
// notice or a receipt that is mail says nothing that anybody waits for: it is read
// when a turn begins for another reason.
func (e Envelope) Wakes() bool {
	return e.Kind != KindIdle && e.Kind != KindReceipt || e.ClassOf() != ClassMail
}
