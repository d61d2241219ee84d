package rpc

import (
	"context"

	"github.com/nats-io/nats.go"
)

// A reply that is too long for one NATS message is sent in several.
const (
	moreHeader = "Swarm-More" // on each of them but the last
	headerRoom = 1 << 10      // bytes of a message that are reserved for headers
)

// respond sends a reply to a request of ask.
func respond(conn *nats.Conn, m *nats.Msg, raw []byte) error {
	most := int(conn.MaxPayload()) - headerRoom
	for len(raw) > most {
		part := nats.NewMsg(m.Reply)
		part.Data = raw[:most]
		part.Header.Set(moreHeader, "1")
		if err := m.RespondMsg(part); err != nil {
			return err
		}
		raw = raw[most:]
	}
	return m.Respond(raw)
}

// ask sends a request and returns the whole reply.
func ask(ctx context.Context, conn *nats.Conn, subject string, data []byte) ([]byte, error) {
	inbox := conn.NewRespInbox()
	sub, err := conn.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }() // it fails only with the connection, which was reported
	if err := conn.PublishRequest(subject, inbox, data); err != nil {
		return nil, err
	}
	var whole []byte
	for {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return nil, err
		}
		whole = append(whole, m.Data...)
		if m.Header.Get(moreHeader) == "" {
			return whole, nil
		}
	}
}
