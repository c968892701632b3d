package auth

// NewProofs are proofs in memory.
var NewProofs = newProofs

// MaxExchanging is how many exchanges run at a time at one issuer.
const MaxExchanging = maxExchanging

// MaxWaitingOfOne is how many questions of one address wait or are asked.
const MaxWaitingOfOne = maxWaitingOfOne
