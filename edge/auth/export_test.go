package auth

// MaxExchanging is the maximum number of concurrent exchanges at one issuer.
const (
	MaxAsking      = maxAsking
	MaxAskingOfOne = maxAskingOfOne
)

// MaxWaitingOfOne is the maximum number of introspections of one address that wait or run.
const MaxWaitingOfOne = maxWaitingOfOne
