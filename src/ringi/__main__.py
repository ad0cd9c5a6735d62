from ringi.cli.main import main

raise SystemExit(main())
