package natsbox

import (
	"strconv"

	"github.com/actorswarm/swarm/mailbox"
	"github.com/nats-io/nats.go"
)

// header repeats what tools read without decoding the body. The message id is random for
// each attempt: if others could guess it, or an earlier attempt had used it, the server
// would drop a message as a duplicate that it never stored.
func header(e mailbox.Envelope) nats.Header {
	values := []string{
		string(mailbox.NewID()), string(e.ID), e.From.String(), e.To.String(),
		strconv.FormatUint(e.Seq, 10), string(e.Kind),
	}
	return nats.Header{
		nats.MsgIdHdr: values[0:1:1],
		HeaderID:      values[1:2:2],
		HeaderFrom:    values[2:3:3],
		HeaderTo:      values[3:4:4],
		HeaderSeq:     values[4:5:5],
		HeaderKind:    values[5:6:6],
	}
}
