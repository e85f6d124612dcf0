#!/usr/bin/env bash
# Makes the certificates of this folder again, all but cert.pem and key.pem. The keys of the CAs are thrown away.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

cat > ca.cnf <<'CNF'
[ca]
default_ca = any
[any]
database = index.txt
rand_serial = yes
new_certs_dir = .
default_md = sha256
default_startdate = 20200101000000Z
default_enddate = 21200101000000Z
policy = policy
unique_subject = no
[policy]
commonName = supplied
[req]
distinguished_name = name
[name]
CNF
touch index.txt

# request NAME SUBJECT: a key in NAME-key.pem and a request in NAME.csr
request() {
  openssl req -config ca.cnf -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
    -keyout "$1-key.pem" -subj "/CN=$2" -out "$1.csr" 2>/dev/null
}

# authority NAME SUBJECT
authority() {
  request "$1" "$2"
  printf 'basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\nsubjectKeyIdentifier=hash\n' > "$1.ext"
  openssl ca -config ca.cnf -batch -notext -selfsign -keyfile "$1-key.pem" -in "$1.csr" -extfile "$1.ext" -out "$1.pem" 2>/dev/null
}

# leaf NAME AUTHORITY serverAuth|clientAuth SANS
leaf() {
  request "$1" "$1"
  printf 'basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=%s\nsubjectAltName=%s\n' "$3" "$4" > "$1.ext"
  openssl ca -config ca.cnf -batch -notext -keyfile "$2-key.pem" -cert "$2.pem" -in "$1.csr" -extfile "$1.ext" -out "$1.pem" 2>/dev/null
  cp "$1.pem" "$1-key.pem" "$here/"
}

authority server-ca 'fencegate test servers CA'
authority clients-ca 'fencegate test clients CA'
authority foreign-ca 'fencegate test foreign CA'
cp server-ca.pem clients-ca.pem "$here/"

settler=URI:spiffe://prod.example/ns/pay/sa/settler
leaf server-1 server-ca serverAuth DNS:localhost,IP:127.0.0.1
leaf server-2 server-ca serverAuth DNS:localhost,IP:127.0.0.1
leaf server-ledger server-ca serverAuth DNS:ledger.example
leaf client-settler clients-ca clientAuth "$settler"
leaf client-dns clients-ca clientAuth DNS:settler.pay.example
leaf client-two-uris clients-ca clientAuth "URI:spiffe://prod.example/ns/pay/sa/auditor,$settler"
leaf client-mixed clients-ca clientAuth email:settler@pay.example,IP:10.1.2.3,IP:2001:db8::1
leaf client-foreign foreign-ca clientAuth "$settler"

openssl req -config ca.cnf -new -newkey rsa:512 -nodes -keyout weak-key.pem -subj /CN=weak -out weak.csr 2>/dev/null
openssl ca -config ca.cnf -batch -notext -selfsign -keyfile weak-key.pem -in weak.csr -out weak.pem 2>/dev/null
cp weak.pem weak-key.pem "$here/"
