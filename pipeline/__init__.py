"""Where the parts become a product: routes, the app, the daemon and the command line."""
