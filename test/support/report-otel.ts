/** Loaded first by a process: says on its standard error which packages of OpenTelemetry it loads. */
import module from 'node:module'

module.registerHooks({
  resolve(specifier, context, next) {
    if (specifier.startsWith('@opentelemetry/')) process.stderr.write(`loads ${specifier}\n`)
    return next(specifier, context)
  },
})
