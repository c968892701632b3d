package identity

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
)

// The limits of a key file.
const (
	// minModulus and maxModulus are the accepted sizes of RSA keys, in bits.
	minModulus, maxModulus = 2048, 8192
	// maxKeys is the maximum number of keys in a file.
	maxKeys = 8
)

// key is a private key with its public metadata. It is immutable.
type key struct {
	// id is the thumbprint of the public key (RFC 7638), so it is the same on all replicas.
	id      string
	method  jwt.SigningMethod
	private crypto.Signer
	// public is the public key as a member of a JWK Set.
	public jwkset.JWKMarshal
}

// parseKeys reads the private keys of a PEM file, in order: one or more, in PKCS #8, PKCS #1 or SEC
// 1. Other blocks are ignored. A truncated file is an error.
func parseKeys(raw []byte) (keys []key, _ error) {
	for rest := raw; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			if bytes.Contains(rest, []byte("-----BEGIN ")) {
				return nil, fmt.Errorf("it is truncated or malformed after %d keys: write the complete file", len(keys))
			}
			break
		}
		if !strings.HasSuffix(block.Type, "PRIVATE KEY") {
			continue
		}
		k, err := parseKey(block)
		if err != nil {
			return nil, fmt.Errorf("key number %d: %w", len(keys)+1, err)
		}
		for _, other := range keys {
			if other.id == k.id {
				return nil, fmt.Errorf("key number %d is a duplicate: remove it", len(keys)+1)
			}
		}
		if keys = append(keys, k); len(keys) > maxKeys {
			return nil, fmt.Errorf("it has more than %d keys: the first one signs; remove those that no backend needs any more", maxKeys)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("it contains no private key: create one as PEM, with: openssl genpkey -algorithm ed25519")
	}
	return keys, nil
}

func parseKey(block *pem.Block) (key, error) {
	if strings.HasPrefix(block.Type, "ENCRYPTED") || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED") {
		return key{}, errors.New("it is encrypted, which is not supported: decrypt it with openssl pkey")
	}
	var private any
	var err error
	switch block.Type {
	case "RSA PRIVATE KEY":
		private, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		private, err = x509.ParseECPrivateKey(block.Bytes)
	default:
		private, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	if err != nil {
		return key{}, fmt.Errorf("it cannot be read: %w", err)
	}
	signer, _ := private.(crypto.Signer)
	method, err := methodOf(signer)
	if err != nil {
		return key{}, err
	}
	return newKey(signer, method)
}

// methodOf returns the signature algorithm of a key.
func methodOf(private crypto.Signer) (jwt.SigningMethod, error) {
	switch k := private.(type) {
	case *rsa.PrivateKey:
		if n := k.N.BitLen(); n < minModulus || n > maxModulus {
			return nil, fmt.Errorf("it is an RSA key of %d bits: use one of %d to %d", n, minModulus, maxModulus)
		}
		return jwt.SigningMethodRS256, nil
	case *ecdsa.PrivateKey:
		switch k.Curve {
		case elliptic.P256():
			return jwt.SigningMethodES256, nil
		case elliptic.P384():
			return jwt.SigningMethodES384, nil
		}
	case ed25519.PrivateKey:
		return jwt.SigningMethodEdDSA, nil
	}
	return nil, errors.New("its type is not supported: use an Ed25519, ECDSA (P-256, P-384) or RSA key")
}

func newKey(private crypto.Signer, method jwt.SigningMethod) (key, error) {
	jwk, err := jwkset.NewJWKFromKey(private.Public(), jwkset.JWKOptions{
		Metadata: jwkset.JWKMetadataOptions{ALG: jwkset.ALG(method.Alg()), USE: jwkset.UseSig},
	})
	if err != nil {
		return key{}, err
	}
	public := jwk.Marshal()
	if public.KID, err = thumbprint(public); err != nil {
		return key{}, err
	}
	return key{public.KID, method, private, public}, nil
}

// thumbprint returns the thumbprint of RFC 7638, section 3: of the required members, in lexical
// order.
func thumbprint(k jwkset.JWKMarshal) (string, error) {
	required := map[string]string{"kty": string(k.KTY)}
	for name, value := range map[string]string{"crv": string(k.CRV), "x": k.X, "y": k.Y, "e": k.E, "n": k.N} {
		if value != "" {
			required[name] = value
		}
	}
	text, err := json.Marshal(required)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}
