"""BMCs that speak Redfish, on one machine: DMTF's mockup of a rack server (redfish/rackmount.json, from the repository
DMTF/Redfish-Mockup-Server at 9a86585f, under the licence beside it), served over HTTPS and made to do what it is told.

    with RedfishBmc('127.0.8.1', folder) as bmc:
        bmc.password, bmc.pin, bmc.at('Systems/437XR1138R2')['PowerState'], bmc.asked
"""
import base64
import contextlib
import copy
import http.server
import json
import pathlib
import ssl
import subprocess
import threading

MOCKUP = json.loads((pathlib.Path(__file__).parent / 'redfish' / 'rackmount.json').read_text())
ROOT = '/redfish/v1/'
SYSTEM = 'Systems/437XR1138R2'
CD = f'{SYSTEM}/VirtualMedia/CD1'


def openssl(*words, data=None):
    return subprocess.run(['openssl', *map(str, words)], input=data, check=True, capture_output=True).stdout


def make_certificate(folder, name, authority=None):
    """A key and a certificate for an address, signed by an authority or by itself. The two files."""
    key, certificate = folder / f'{name}.key', folder / f'{name}.pem'
    by = ['-CA', authority[1], '-CAkey', authority[0]] if authority else []
    constraint = [] if authority is not None or name != 'authority' else ['-addext', 'basicConstraints=critical,CA:TRUE']
    subject = ['-addext', f'subjectAltName=IP:{name}'] if name[0].isdigit() else []
    openssl('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '30', '-subj',
            f'/CN={name}', '-keyout', key, '-out', certificate, *subject, *constraint, *by)
    return key, certificate


def pin_of(key):
    """What libcurl calls sha256//…, from the private key: another way than railbed's, which has the certificate."""
    public = openssl('pkey', '-in', key, '-pubout', '-outform', 'DER')
    return 'sha256//' + base64.b64encode(openssl('dgst', '-sha256', '-binary', data=public)).decode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *_):
        pass

    def answer(self, status, document=None, **headers):
        body = b'' if document is None else json.dumps(document).encode()
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, status, text):
        self.answer(status, {'error': {'code': 'Base.1.0.GeneralError', 'message': 'see below',
                                       '@Message.ExtendedInfo': [{'Message': text}]}})

    def handle_one_request(self):
        # A client that goes away in mid-answer is no trouble of the test's.
        with contextlib.suppress(OSError, ssl.SSLError):
            super().handle_one_request()

    def is_welcome(self, path):
        self.server.bmc.asked.append((self.command, path))
        bmc, given = self.server.bmc, self.headers.get('Authorization', '')
        if bmc.tokens is not None:  # Basic is off: only sessions count
            if self.headers.get('X-Auth-Token') in bmc.tokens or path.rstrip('/') == ROOT.rstrip('/'):
                return True
            self.refuse(401, 'no valid session')
            return False
        right = base64.b64encode(f'{self.server.bmc.user}:{self.server.bmc.password}'.encode()).decode()
        # DSP0266: the service root is for everybody.
        if given == f'Basic {right}' or path.rstrip('/') == ROOT.rstrip('/'):
            return True
        self.answer(401, {'error': {'message': 'who are you'}}, **{'WWW-Authenticate': 'Basic realm="bmc"'})
        return False

    def opens_session(self, body):
        """The login of a service that takes no Basic authentication."""
        bmc = self.server.bmc
        if bmc.tokens is None or self.path.rstrip('/') != f'{ROOT}SessionService/Sessions':
            return False
        bmc.asked.append((self.command, self.path))
        if (body.get('UserName'), body.get('Password')) != (bmc.user, bmc.password):
            self.refuse(401, 'wrong')
            return True
        bmc.tokens.append(f'token-{len(bmc.tokens)}')
        self.answer(201, {'Id': '1'}, **{'X-Auth-Token': bmc.tokens[-1], 'Location': f'https://{bmc.address}{ROOT}SessionService/Sessions/1'})
        return True

    def do_DELETE(self):
        bmc = self.server.bmc
        if self.is_welcome(self.path):
            bmc.tokens.remove(self.headers['X-Auth-Token'])
            self.answer(204)

    def do_GET(self):
        bmc = self.server.bmc
        path, _, query = self.path.partition('?')
        if not self.is_welcome(self.path) or bmc.trouble(self, path):
            return
        document = bmc.documents.get(path) or bmc.documents.get(path.rstrip('/'))
        if document is None:
            self.refuse(404, f'there is no {path}')
        elif query.startswith('$expand=') and bmc.expands:
            members = [bmc.documents[member['@odata.id']] for member in document['Members']]
            self.answer(200, {**document, 'Members': members})
        else:
            self.answer(200, document, ETag=f'"{bmc.version}"')

    def body(self):
        return json.loads(self.rfile.read(int(self.headers['Content-Length'])) or b'{}')

    def do_POST(self):
        body = self.body()
        if self.opens_session(body):
            return
        if self.is_welcome(self.path) and not self.server.bmc.answers(self, body):
            self.server.bmc.act(self, self.path.removeprefix(ROOT), body)

    def do_PATCH(self):
        bmc, body = self.server.bmc, self.body()
        if not self.is_welcome(self.path) or bmc.answers(self, body):
            return
        if self.headers.get('If-Match') != f'"{bmc.version}"':
            return self.refuse(412, 'somebody else changed it')
        bmc.patch(self.path.removeprefix(ROOT), body)
        self.answer(204)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    bmc = None

    def get_request(self):
        line, address = super().get_request()
        self.bmc.connections += 1
        return line, address

    def handle_error(self, *_):
        pass


def merge(document, changes):
    for key, value in changes.items():
        if isinstance(value, dict) and isinstance(document.get(key), dict):
            merge(document[key], value)
        else:
            document[key] = value


class RedfishBmc:
    def __init__(self, address, folder, authority=None, trouble=None, shown=None):
        self.address = address
        self.user, self.password = 'Administrator', f'r3d-{address[-1]}-fish'
        self.documents = copy.deepcopy(MOCKUP)
        self.version = 1
        self.expands = True
        self.connections = 0
        self.asked = []
        self.acted = []
        self.tokens = None  # the sessions of a service without Basic authentication
        self.trouble = trouble or (lambda handler, path: False)
        self.answers = lambda handler, body: False  # what a maker's service does with a change; True: it has answered
        self.key, self.certificate = shown or make_certificate(folder, address, authority)
        self.pin = pin_of(self.key)
        self.server = Server((address, 443), Handler)
        self.server.bmc = self
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        # The greeting happens in the thread of its connection, so that a mute client stops nobody else.
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def at(self, path):
        return self.documents[ROOT + path]

    def patch(self, path, body):
        self.acted.append((path, body))
        self.version += 1
        if 'Password' in body:
            self.password = body['Password']
        else:
            merge(self.at(path), body)

    def act(self, handler, path, body):
        self.acted.append((path, body))
        self.version += 1
        if path.endswith('ComputerSystem.Reset'):
            word = body['ResetType']
            if word not in self.at(SYSTEM)['Actions']['#ComputerSystem.Reset']['ResetType@Redfish.AllowableValues']:
                return handler.refuse(400, f'no {word}')
            self.at(SYSTEM)['PowerState'] = 'Off' if word in ('ForceOff', 'GracefulShutdown') else 'On'
        elif path.endswith('LogService.ClearLog'):
            entries = self.at(path.partition('/Actions/')[0] + '/Entries')
            entries['Members'], entries['Members@odata.count'] = [], 0
        elif path.endswith('VirtualMedia.InsertMedia'):
            self.at(CD).update(Image=body['Image'], Inserted=True)
        elif path.endswith('VirtualMedia.EjectMedia'):
            self.at(CD).update(Image=None, Inserted=False)
        else:
            return handler.refuse(404, 'no such action')
        handler.answer(204)
