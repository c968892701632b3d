// Command token stands in for an authorization server: it writes an access token to NAME.token, and the key that verifies it to issuer.json.
//
//	token NAME [TENANT]
package main

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"log"
	"os"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
)

func main() {
	if len(os.Args) < 2 {
		log.Fatal("usage: token NAME [TENANT]")
	}
	claims := jwt.MapClaims{"iss": "https://id.example.com", "aud": "edge", "sub": os.Args[1], "exp": time.Now().Add(time.Hour).Unix()}
	if len(os.Args) > 2 {
		claims["tenant"] = os.Args[2]
	}
	if err := issue(os.Args[1]+".token", claims); err != nil {
		log.Fatal(err)
	}
}

// issue signs claims with the key of an example, which everybody knows.
func issue(file string, claims jwt.MapClaims) error {
	seed := sha256.Sum256([]byte("an example"))
	key := ed25519.NewKeyFromSeed(seed[:])
	jwk, err := jwkset.NewJWKFromKey(key.Public(), jwkset.JWKOptions{Metadata: jwkset.JWKMetadataOptions{KID: "example", ALG: jwkset.AlgEdDSA}})
	if err != nil {
		return err
	}
	set := jwkset.NewMemoryStorage()
	if err := set.KeyWrite(context.Background(), jwk); err != nil {
		return err
	}
	public, err := set.JSONPublic(context.Background())
	if err != nil {
		return err
	}
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims)
	token.Header["kid"] = "example"
	text, err := token.SignedString(key)
	return errors.Join(err, os.WriteFile("issuer.json", public, 0o600), os.WriteFile(file, []byte(text), 0o600))
}
