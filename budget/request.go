package budget

// Request is what a request may use. Unpriced reports that the model has no price. Its
// encoding is a part of the requests between processes and does not follow the names.
type Request struct {
	Model     string
	Unpriced  bool
	Input     int64  // tokens
	InputCost USD    // of the whole input
	TokenCost USD    // of one token of output
	MaxOutput int64  `json:"Output"` // of the answer
	MinOutput int64  `json:"Floor"`  // an answer of fewer tokens is useless: the request is refused
	Enough    int64  // with as many tokens the request does not wait for others in flight
	OnWait    func() `json:"-"` // called once if the request has to wait; may be nil
}

// Amount returns what the request uses with an answer of that many tokens.
func (r Request) Amount(output int64) Amount {
	return Amount{Money: r.InputCost + USD(output)*r.TokenCost, Tokens: r.Input + output, Requests: 1}
}
