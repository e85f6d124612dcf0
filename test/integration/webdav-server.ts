/** nginx as a WebDAV server: one process on a free port, with a directory of its own. */
import fs from 'node:fs'
import path from 'node:path'
import { temporaryDirectory } from '../support/sidecar.ts'
import { freePort, listens, startServer } from './server-process.ts'

const NGINX = '/usr/sbin/nginx'
/** WebDAV beyond what nginx has built in. */
const MODULE = '/usr/lib/nginx/modules/ngx_http_dav_ext_module.so'

export class WebdavServer {
  readonly url: string
  readonly #directory: string

  private constructor(url: string, directory: string) {
    this.url = url
    this.#directory = directory
  }

  static async start(): Promise<WebdavServer> {
    const directory = temporaryDirectory()
    const port = await freePort()
    for (const folder of ['', 'open', 'rewritten']) fs.mkdirSync(path.join(directory, 'files', folder))
    const file = path.join(directory, 'nginx.conf')
    fs.writeFileSync(file, configuration(directory, port))
    await startServer(NGINX, ['-p', directory, '-c', file], () => listens(port))
    return new WebdavServer(`http://127.0.0.1:${port}`, directory)
  }

  get files(): string {
    return path.join(this.#directory, 'files')
  }

  /** What is on the disk: each directory with a `/`, each file with what it holds. */
  get contents(): Record<string, string> {
    const entries = fs.readdirSync(this.files, { recursive: true, withFileTypes: true })
    return Object.fromEntries(
      entries.map((entry) => {
        const file = path.join(entry.parentPath, entry.name)
        const name = path.relative(this.files, file)
        return entry.isDirectory() ? [`${name}/`, ''] : [name, fs.readFileSync(file, 'utf8')]
      }),
    )
  }

  /** `METHOD target status` of each request, in order. */
  get requests(): string[] {
    return fs.readFileSync(path.join(this.#directory, 'access.log'), 'utf8').split('\n').slice(0, -1)
  }
}

const configuration = (directory: string, port: number) => `
load_module ${MODULE};
daemon off;
master_process off;
pid ${directory}/nginx.pid;
error_log stderr warn;
events {}
http {
  log_format short '$request_method $request_uri $status';
  access_log ${directory}/access.log short;
  client_body_temp_path ${directory}/body;
  proxy_temp_path ${directory}/proxy;
  fastcgi_temp_path ${directory}/fastcgi;
  uwsgi_temp_path ${directory}/uwsgi;
  scgi_temp_path ${directory}/scgi;
  client_max_body_size 0;
  dav_ext_lock_zone zone=locks:1m;
  server {
    listen 127.0.0.1:${port};
    root ${directory}/files;
    dav_methods PUT DELETE MKCOL COPY MOVE;
    dav_ext_methods PROPFIND OPTIONS LOCK UNLOCK;
    dav_ext_lock zone=locks;
  }
}
`
